//! Tables and queues of one test, made through the same clients that the functions use.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use aws_sdk_sqs::types::Message;
use spillway_aws::clients::Sdk;
use spillway_aws::config::{QueueUrls, Tables};
use spillway_aws::schema::{DUE_MINUTE_INDEX, control, job};

/// Tables and queues that no other test uses.
pub(super) struct Resources {
    pub(super) sdk: Sdk,
    pub(super) tables: Tables,
    pub(super) queues: QueueUrls,
    pub(super) dead_letters: QueueUrls,
    suffix: String,
}

impl Resources {
    pub(super) async fn create() -> Self {
        assert!(
            std::env::var_os("AWS_ENDPOINT_URL").is_some(),
            "these tests need an emulator at AWS_ENDPOINT_URL"
        );
        let sdk = Sdk::load().await;
        let suffix = suffix();
        let queues = create_queues(&sdk, &suffix).await;
        let dead_letters = create_queues(&sdk, &format!("dead-{suffix}")).await;
        let tables =
            Tables { jobs: format!("jobs-{suffix}"), control: format!("control-{suffix}") };
        create_jobs_table(&sdk, &tables.jobs).await;
        create_control_table(&sdk, &tables.control).await;
        Self { sdk, tables, queues, dead_letters, suffix }
    }

    /// Gives a name that ends as all names of this test do.
    pub(super) fn named(&self, name: &str) -> String {
        format!("{name}-{}", self.suffix)
    }

    pub(super) async fn delete(&self) {
        for table in [&self.tables.jobs, &self.tables.control] {
            self.sdk.tables().delete_table().table_name(table).send().await.unwrap();
        }
        for urls in [&self.queues, &self.dead_letters] {
            for url in [&urls.exact, &urls.movable] {
                self.sdk.queues().delete_queue().queue_url(url).send().await.unwrap();
            }
        }
    }

    /// Receives the bodies that a queue has by now, and deletes their messages.
    pub(super) async fn receive(&self, url: &str) -> Vec<String> {
        let messages = self.messages(url).await;
        for handle in messages.iter().filter_map(Message::receipt_handle) {
            let call = self.sdk.queues().delete_message().queue_url(url).receipt_handle(handle);
            call.send().await.unwrap();
        }
        bodies(messages)
    }

    /// Receives the bodies that a queue has by now, and leaves their messages in flight.
    pub(super) async fn hold(&self, url: &str) -> Vec<String> {
        bodies(self.messages(url).await)
    }

    async fn messages(&self, url: &str) -> Vec<Message> {
        let call = self.sdk.queues().receive_message().queue_url(url).max_number_of_messages(10);
        call.wait_time_seconds(1).send().await.unwrap().messages.unwrap_or_default()
    }
}

fn bodies(messages: Vec<Message>) -> Vec<String> {
    messages.into_iter().map(|message| message.body.unwrap()).collect()
}

/// Tells this test from every other, on this machine and elsewhere.
fn suffix() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{count}", std::process::id(), since_epoch.as_micros())
}

/// Makes a queue for each lane.
async fn create_queues(sdk: &Sdk, suffix: &str) -> QueueUrls {
    QueueUrls {
        exact: create_queue(sdk, &format!("exact-{suffix}")).await,
        movable: create_queue(sdk, &format!("movable-{suffix}")).await,
    }
}

async fn create_queue(sdk: &Sdk, name: &str) -> String {
    sdk.queues().create_queue().queue_name(name).send().await.unwrap().queue_url.unwrap()
}

async fn create_jobs_table(sdk: &Sdk, name: &str) {
    let projection = Projection::builder()
        .projection_type(ProjectionType::Include)
        .set_non_key_attributes(Some(job::PROJECTED.map(str::to_owned).into()))
        .build();
    let index = GlobalSecondaryIndex::builder()
        .index_name(DUE_MINUTE_INDEX)
        .key_schema(key(job::BUCKET, KeyType::Hash))
        .key_schema(key(job::RELEASE_AT, KeyType::Range))
        .projection(projection)
        .build()
        .unwrap();
    let call = sdk
        .tables()
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(job::JOB_ID, ScalarAttributeType::S))
        .attribute_definitions(attribute(job::BUCKET, ScalarAttributeType::S))
        .attribute_definitions(attribute(job::RELEASE_AT, ScalarAttributeType::N))
        .key_schema(key(job::JOB_ID, KeyType::Hash))
        .global_secondary_indexes(index);
    call.send().await.unwrap();
}

async fn create_control_table(sdk: &Sdk, name: &str) {
    let call = sdk
        .tables()
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(control::KEY, ScalarAttributeType::S))
        .key_schema(key(control::KEY, KeyType::Hash));
    call.send().await.unwrap();
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
}

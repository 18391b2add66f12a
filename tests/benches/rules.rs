//! How long the rules take that are asked for every job.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use spillway_aws::item;
use spillway_domain::bucket::Bucket;
use spillway_domain::jitter::{ReleaseHash, offset_seconds, shard};
use spillway_domain::job::{Generation, Job};
use spillway_domain::name::JobId;
use spillway_domain::pack::{DueJob, PackEntry, PackKey, packs};
use spillway_domain::precision::Lane;
use spillway_testkit::build::{at, channel, exact_job, job_id, minute, shards};

const JOBS: usize = 10_000;

fn ids() -> Vec<JobId> {
    (0..JOBS).map(|number| job_id(format!("reminder:{number}:2026"))).collect()
}

fn jitter(c: &mut Criterion) {
    let ids = ids();
    let mut group = c.benchmark_group("jitter");
    group.throughput(Throughput::Elements(JOBS as u64));
    group.bench_function("offset", |b| {
        b.iter(|| ids.iter().map(|id| offset_seconds(id, 300, 300)).sum::<i64>());
    });
    group.bench_function("shard", |b| {
        b.iter(|| ids.iter().map(|id| u64::from(shard(id, shards(64)).number())).sum::<u64>());
    });
    group.bench_function("release_order", |b| {
        b.iter(|| ids.iter().map(|id| ReleaseHash::of(id).value()).fold(0, u64::wrapping_add));
    });
}

fn bucket_key(c: &mut Criterion) {
    let minute = minute("2026-12-01T09:00Z");
    let buckets: Vec<_> = ids().iter().map(|id| Bucket::of(id, minute, shards(64))).collect();
    let keys: Vec<_> = buckets.iter().map(ToString::to_string).collect();
    let mut group = c.benchmark_group("bucket_key");
    group.throughput(Throughput::Elements(JOBS as u64));
    group.bench_function("parse", |b| {
        b.iter(|| keys.iter().filter(|key| Bucket::parse(key).is_some()).count());
    });
    group.bench_function("write", |b| {
        b.iter(|| buckets.iter().map(|bucket| bucket.to_string().len()).sum::<usize>());
    });
}

/// Jobs of 60 seconds, two channels and two lanes: 240 open packs.
fn due_jobs() -> Vec<DueJob> {
    let channels = [channel("inbox"), channel("bus")];
    let due_job = |(number, job_id): (i64, JobId)| DueJob {
        key: PackKey {
            release_at: at("2026-12-01T09:00:00Z").plus_seconds(number / 4 % 60),
            channel: channels[usize::from(number % 2 == 0)].clone(),
            lane: Lane::ALL[usize::from(number / 2 % 2 == 0)],
        },
        entry: PackEntry { job_id, generation: Generation::from_number(1) },
        class: None,
        priority: 1,
    };
    (0..).zip(ids()).map(due_job).collect()
}

fn packing(c: &mut Criterion) {
    let due = due_jobs();
    let mut group = c.benchmark_group("packing");
    group.throughput(Throughput::Elements(JOBS as u64));
    group.bench_function("240_cells", |b| {
        b.iter_batched(|| due.clone(), packs, BatchSize::LargeInput);
    });
}

/// What a claim answers is a whole row.
fn claimed_row(c: &mut Criterion) {
    let now = at("2026-12-01T08:00:00Z");
    let job: Job = exact_job("reminder:42:2026", at("2026-12-01T09:00:00Z"), now);
    let row = item::to_item(&job);
    let mut group = c.benchmark_group("claimed_row");
    group.throughput(Throughput::Elements(1));
    group.bench_function("read", |b| {
        b.iter_batched(|| row.clone(), item::from_item, BatchSize::SmallInput);
    });
    group.bench_function("write", |b| b.iter(|| item::to_item(&job)));
}

criterion_group!(benches, jitter, bucket_key, packing, claimed_row);
criterion_main!(benches);

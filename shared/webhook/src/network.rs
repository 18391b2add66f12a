//! What a webhook needs of the network: names resolved, connections made. Tests put theirs in.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpStream, lookup_host};

/// Names and connections.
pub trait Network: Send + Sync + 'static {
    /// Lists the addresses that a host's name stands for.
    fn resolve(&self, host: &str) -> impl Future<Output = io::Result<Vec<IpAddr>>> + Send;

    /// Connects to an address.
    fn connect(&self, address: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> + Send;
}

/// The machine's own network.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNetwork;

impl Network for SystemNetwork {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        // The resolver wants a port and gives it back.
        Ok(lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

import { afterEach, describe, expect, it } from 'vitest';
import { directoryConformance } from '#test/runtime/directory/directory-conformance.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { type DirectoryMember, NatsDirectories } from '#test/support/nats-directories.ts';
import { TcpProxy } from '#test/support/tcp-proxy.ts';

const PARTITIONS = 8;
const nats = sharedNatsCluster(1);

directoryConformance('of three members over NATS', async () => {
  const cluster = new NatsDirectories(PARTITIONS);
  const members: DirectoryMember[] = [];
  for (const id of ['a', 'b', 'c']) members.push(await cluster.join(id, nats().urls));
  for (let partition = 0; partition < PARTITIONS; partition++)
    members[partition % 3]?.registry.claim(partition, partition + 1);
  for (const member of members) {
    await cluster.until(
      member,
      (directory) =>
        directory.members().length === 3 &&
        Array.from({ length: PARTITIONS }, (_, each) => directory.ownerOf(each)).every(Boolean),
    );
  }
  return { directories: members.map(({ directory }) => directory), close: () => cluster.close() };
});

describe('members over NATS', () => {
  let cluster: NatsDirectories;

  afterEach(() => cluster.close());

  /** Quick enough for a test, slow enough for a busy machine. */
  const quick = { heartbeatMs: 50, suspectMs: 2_000, forgetMs: 60_000, steadyMs: 200, handoverMs: 1_000 };

  it('hear of a change at once, not with the next heartbeat', async () => {
    cluster = new NatsDirectories(PARTITIONS, { ...quick, heartbeatMs: 60_000 });
    const a = await cluster.join('a', nats().urls);
    const b = await cluster.join('b', nats().urls);
    // The one that was there first hears the other begin; the other one only what the first says next.
    b.registry.claim(3, 7);
    await cluster.until(a, (directory) => directory.ownerOf(3)?.id === 'b');
    a.registry.claim(4, 1);
    await cluster.until(b, (directory) => directory.ownerOf(4)?.id === 'a');
    b.registry.release(3, 'a');
    await cluster.until(a, (directory) => directory.ownerOf(3) === undefined);
    expect(a.directory.placement.owners[3]).toBe('a');
    b.registry.drain();
    await cluster.until(a, (directory) => directory.members()[1]?.isDraining === true);
  });

  it('believe the newer epoch, also when only a log shows it', async () => {
    cluster = new NatsDirectories(PARTITIONS, quick);
    const a = await cluster.join('a', nats().urls);
    const b = await cluster.join('b', nats().urls);
    a.registry.claim(1, 5);
    await cluster.until(b, (directory) => directory.ownerOf(1)?.id === 'a');
    b.registry.claim(1, 6);
    await cluster.until(a, (directory) => directory.ownerOf(1)?.id === 'b');
    expect(b.directory.ownerOf(1)).toEqual({ id: 'b', url: 'http://b', epoch: 6, isSelf: true });
    a.registry.observe(1, 7);
    expect(a.directory.ownerOf(1)).toBeUndefined();
  });

  it('are noticed by another one of the same name that starts without a connection', async () => {
    cluster = new NatsDirectories(PARTITIONS, quick);
    await cluster.join('a', nats().urls);
    const [url] = nats().urls;
    const way = await TcpProxy.to(Number(new URL(url as string).port));
    const connection = await connectToNats({ urls: [`nats://127.0.0.1:${way.port}`], name: 'a' });
    try {
      const isLost = new Promise<void>((resolve) => {
        void (async () => {
          for await (const { type } of connection.status()) if (type === 'disconnect') resolve();
        })();
      });
      way.cut();
      await isLost;
      // The connection comes back when the name was looked at for twice as long as nobody may be heard.
      let looks = 0;
      const clock: Clock = {
        ...systemClock,
        after(delayMs, callback) {
          looks += 1;
          if (looks === 30) way.restore();
          return systemClock.after(delayMs, callback);
        },
      };
      expect(await cluster.duplicateOf('a', connection, clock, 500)).toBe('http://a');
    } finally {
      await connection.close();
      await way.close();
    }
  });

  it('remove a member at once when it leaves, and after a timeout when it is silent', async () => {
    cluster = new NatsDirectories(PARTITIONS, quick);
    const a = await cluster.join('a', nats().urls);
    const b = await cluster.join('b', nats().urls);
    const c = await cluster.join('c', nats().urls);
    c.registry.claim(2, 1);
    await cluster.until(
      a,
      (directory) => directory.ownerOf(2)?.id === 'c' && directory.members().length === 3,
    );
    b.registry.stop();
    await cluster.until(a, (directory) => directory.members().length === 2);
    await c.connection.close();
    await cluster.until(a, (directory) => directory.members().some(({ isSuspect }) => isSuspect));
    expect(a.heard).toEqual(['+b', '+c', '-b', '?c']);
    expect(a.directory.ownerOf(2)?.id).toBe('c');
    expect(a.directory.placement.owners[2]).toBe('a');
    await cluster.until(a, (directory) => directory.vacancies.includes(2));
  });

  it('notice another process of the same name, and take a restart for what it is', async () => {
    cluster = new NatsDirectories(PARTITIONS, quick);
    const a = await cluster.join('a', nats().urls);
    const b = await cluster.join('b', nats().urls);
    b.registry.claim(5, 1);
    await cluster.until(a, (directory) => directory.ownerOf(5)?.id === 'b');
    await b.connection.close();
    await cluster.join('b', nats().urls);
    await cluster.until(a, (directory) => directory.ownerOf(5) === undefined);
    const twin = await cluster.join('a', nats().urls);
    while (!twin.heard.includes('!http://a')) await new Promise((resolve) => setTimeout(resolve, 10));
    while (!a.heard.includes('!http://a')) await new Promise((resolve) => setTimeout(resolve, 10));
  });
});

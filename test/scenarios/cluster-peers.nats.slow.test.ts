import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { checkLockHistory } from '#test/support/lock-history.ts';
import { LockLoad } from '#test/support/lock-load.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { type NatsServer, sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { allReplicated } from '#test/support/nats-streams.ts';
import { tellReport, WriteLoad } from '#test/support/write-load.ts';

/** Writes of each repository, and answers about locks, before and after something happens. */
const WRITES = 10;
const LOCKS = 40;

type Json = TestResponse['json'];

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

const repositories = ['red', 'green', 'blue'] as const;

/** What the configuration of members says of the NATS servers there are. */
const pages = (): string[] => [`nats_monitor_urls = ${JSON.stringify(nats().monitorUrls)}`];

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: 3, partitions: 3, settings: pages() });
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  for (const repository of repositories) {
    expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: repository }), 201);
    expectStatus(await cluster.admin('PUT', `/api/workspaces/${repository}/load`, open), 204);
  }
});

afterAll(() => cluster?.close());

/** The NATS servers in the status of a member. */
async function seen(member: ClusterMember): Promise<string[]> {
  const { nats_servers: servers } = await cluster.overview(member);
  return servers.map(({ name, state }: Json) => `${name} ${state}`);
}

describe('NATS servers that are replaced under load, as the page for operators describes', () => {
  it('lose and double nothing, give their replicas to the new ones, and the loss of another one is survived', async () => {
    for (const member of cluster.members)
      expect(await seen(member)).toEqual(['n1 reachable', 'n2 reachable', 'n3 reachable']);
    const load = new WriteLoad(cluster, repositories, 'peers').start();
    const locks = new LockLoad(cluster, repositories[0]).start();
    const both = async (): Promise<void> => {
      await load.progress(WRITES);
      await locks.progress(LOCKS);
    };
    await both();
    const streams = (await allReplicated(nats())).get('n1');
    const [first] = nats().servers as [NatsServer];
    const replaced: string[] = [];
    // At first the one that leads JetStream, then one that does not.
    for (const isLeader of [true, false]) {
      const old = [...nats().servers];
      const added = await nats().add();
      await both();
      const leader = await nats().leader();
      const gone = old.find((server) => (server === leader) === isLeader) ?? first;
      await allReplicated(nats());
      await gone.stop();
      await both();
      await nats().remove(gone);
      replaced.push(gone.name);
      const counts = await allReplicated(nats());
      expect([counts.get(gone.name), counts.get(added.name)]).toEqual([undefined, expect.any(Number)]);
      await both();
    }
    expect([...(await allReplicated(nats())).values()]).toEqual([streams, streams, streams]);

    // A member knows of the servers that were there when it started, and tells of those that are gone.
    const [restarted, other] = [cluster.member(0), cluster.member(1)];
    cluster.configure(pages());
    expect(await restarted.drain()).toBe(0);
    await restarted.start();
    const names = nats().servers.map(({ name }) => `${name} reachable`);
    expect(await seen(restarted)).toEqual(names);
    expect(await seen(other)).toEqual(expect.arrayContaining(replaced.map((name) => `${name} unreachable`)));

    // Of the three only one was there at the beginning: without it nothing is left but what the others were given.
    const last = nats().servers[0] as NatsServer;
    await last.stop();
    await both();
    // Its page does not answer either, and a member starts nevertheless: it has met the server before.
    await other.kill();
    await other.start();
    expect(await seen(other)).toContain(`${last.name} unreachable`);
    await both();
    const report = await load.stop();
    await locks.stop();
    tellReport('two NATS servers replaced, and a third one stopped', report);
    expect(await load.check()).toEqual([]);
    expect(checkLockHistory(locks.history.events)).toEqual([]);
    expect(await locks.checkUnits()).toEqual([]);
  });
});

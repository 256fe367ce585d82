import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { expectSameRows } from '#test/support/same-rows.ts';
import { until } from '#test/support/until.ts';

/** Time within which another member has to take over, in milliseconds. */
const TAKEN_OVER_MS_MAX = 90_000;

const REPOSITORY = 'site';
const NODES = 40;
const base = `/api/repository/${REPOSITORY}/main/head/content`;
const address = `/api/management/${REPOSITORY}/main/statistics`;

const nats = sharedNatsCluster(3);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: 3, partitions: 1 });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: REPOSITORY }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', `/api/workspaces/${REPOSITORY}/content`, open), 204);
});
afterAll(() => cluster?.close());

async function write(method: string, path: string, body?: object): Promise<void> {
  const wanted = method === 'POST' ? [201] : [200, 204];
  await until(
    async () => {
      const sent = cluster.admin(method, `${base}${path}`, body);
      return wanted.includes(
        await sent.then(
          ({ status }) => status,
          () => 0,
        ),
      );
    },
    `${method} ${path}`,
    TAKEN_OVER_MS_MAX,
  );
}

const create = (name: string, more: object = {}): Promise<void> =>
  write('POST', '/', { name, node_type: 'svc:Folder', properties: { title: name, ...more } });

/** The statistics at the head, when a member that is up has them. */
async function statistics(): Promise<TestResponse['json']> {
  const branch = `/api/management/repositories/default/${REPOSITORY}/branches/main/head`;
  let json: TestResponse['json'];
  await until(
    async () => {
      const [head, answer] = await Promise.all([
        cluster.admin('GET', branch).catch(() => undefined),
        cluster.admin('GET', `${address}?workspace=content`).catch(() => undefined),
      ]);
      json = answer?.json;
      return answer?.status === 200 && head?.status === 200 && json.revision === head.json.revision;
    },
    'they are those of the head',
    TAKEN_OVER_MS_MAX,
  );
  return json.workspaces[0]?.node_types[0];
}

it.each(['mid-consume:1', 'after-durable:2', 'before-apply:1'])(
  'statistics are built by the next owner where the last one died, at %s',
  async (point) => {
    const name = point.split(':')[0] as string;
    for (let index = 0; index < NODES; index++) await create(`${name}-${index}`);
    expectStatus(await cluster.admin('DELETE', address), 204);
    const owner = await cluster.ownerOf(REPOSITORY);
    await owner.arm(point);
    const death = owner.died();
    // Each of them lets the build go on, or begins it.
    let isDead = false;
    void death.then(() => {
      isDead = true;
    });
    await until(
      async () => {
        await cluster.admin('GET', address).catch(() => {});
        return isDead;
      },
      'the owner has died',
      TAKEN_OVER_MS_MAX,
    );
    await create(`${name}-more`, { more: 1 });
    await write('DELETE', `/${name}-0`);
    const rounds = ['mid-consume', 'after-durable', 'before-apply'].indexOf(name) + 1;
    const nodes = NODES * rounds;
    expect(await statistics()).toMatchObject({
      name: 'svc:Folder',
      nodes,
      properties: [
        { name: 'more', nodes: rounds, kinds: { number: rounds } },
        { name: 'title', nodes, kinds: { string: nodes } },
      ],
    });
    await owner.start();
  },
);

it('statistics are the same rows on every member', async () => {
  await create('last');
  expect((await statistics()).nodes).toBe(3 * NODES + 1);
  await cluster.settled();
  await expectSameRows(cluster, [REPOSITORY], 3 * NODES);
});

import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { runProgram } from '#test/support/run-program.ts';
import { until } from '#test/support/until.ts';

const NODES = 12;

/** Of a shard that is built anew, in milliseconds. */
const PATIENCE_MS = 60_000;

const PATH = '/api/management/checks';

const content = '/api/repository/shop/main/head/load';

const thrownAway =
  'partition: its shards on this member are damaged; they are removed and rebuilt from the log';

const nats = sharedNatsCluster(1);
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: 2, partitions: 1, settings: ['replicas = 1'] });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: 'shop' }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', '/api/workspaces/shop/load', open), 204);
  for (let n = 0; n < NODES; n += 1) {
    const node = { name: `m${n}`, node_type: 'svc:Folder', properties: { text: `marker-${n}` } };
    expectStatus(await cluster.admin('POST', `${content}/`, node), 201);
  }
});

afterAll(() => cluster?.close());

interface CheckJson {
  readonly id: string;
  readonly state: string;
  readonly actors: number;
  readonly damage: readonly { readonly actor: string; readonly file: string }[];
}

async function checkAt(member: ClusterMember): Promise<CheckJson> {
  const begun = expectStatus(await cluster.adminAt(member, 'POST', PATH), 202);
  let check = begun.json as unknown as CheckJson;
  await until(
    async () => {
      const { json } = await cluster.adminAt(member, 'GET', `${PATH}/${check.id}`);
      check = json as unknown as CheckJson;
      return check.state !== 'running';
    },
    'the check is over',
    PATIENCE_MS,
  );
  return check;
}

/** Changes what nodes hold in the file a member has open, where it lies, when all of them are in it. */
async function damage(member: ClusterMember): Promise<string> {
  const folder = cluster.branchFolders('shop').find((each) => each.startsWith(cluster.dataDirOf(member)));
  const path = join(folder as string, 'data.mdb');
  const hasAll = (): boolean => readFileSync(path).includes(`marker-${NODES - 1}`);
  await until(hasAll, 'all nodes are in the shard', PATIENCE_MS);
  const bytes = readFileSync(path);
  const file = openSync(path, 'r+');
  let flipped = 0;
  for (let at = bytes.indexOf('marker-'); at >= 0; at = bytes.indexOf('marker-', at + 1)) {
    writeSync(file, Buffer.from([(bytes[at + 3] as number) ^ 0x10]), 0, 1, at + 3);
    flipped += 1;
  }
  closeSync(file);
  expect(flipped).toBeGreaterThan(0);
  return path;
}

describe('a check of a member of a cluster', () => {
  it('verifies what the member has, finds the damage, and has it rebuilt from the log [CHK-011]', async () => {
    const owner = await cluster.ownerOf('shop');
    const follower = cluster.members.find((member) => member !== owner) as ClusterMember;
    for (const member of [follower, owner]) {
      await until(async () => (await checkAt(member)).actors > 2, 'it has the actors', PATIENCE_MS);
      expect(await checkAt(member)).toMatchObject({ state: 'done', damage: [] });
      const path = await damage(member);
      const found = await runProgram(
        'server/check/check-data.ts',
        ['--data-dir', cluster.dataDirOf(member)],
        {
          GROVE_TOKEN: cluster.token,
        },
      );
      expect(found.code).toBe(1);
      expect(found.stdout).toContain(path);
      const isWhole = async (): Promise<boolean> => {
        const { actors, damage: left } = await checkAt(member);
        return actors > 2 && left.length === 0;
      };
      await until(isWhole, 'what was damaged is made anew', PATIENCE_MS);
      expect(member.linesOf(thrownAway)).toHaveLength(1);
      for (let n = 0; n < NODES; n += 1) {
        const headers = { 'X-Svc-Consistency': 'local' };
        const { json, status } = await cluster.adminAt(member, 'GET', `${content}/m${n}`, undefined, headers);
        expect([status, json.properties.text]).toEqual([200, `marker-${n}`]);
      }
    }
  });
});

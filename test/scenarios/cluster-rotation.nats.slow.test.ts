import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { mailAuthority } from '#test/support/mail-server.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { TenantMail, tenantOf } from '#test/support/tenant-mail.ts';
import { until } from '#test/support/until.ts';

const MEMBERS = 3;
const PARTITIONS = 3;
/** The one that `MemberCluster` gives to its members. */
const former = '0123456789abcdef'.repeat(4);
const present = 'fedcba9876543210'.repeat(4);

const nats = sharedNatsCluster(3);
let mail: TenantMail;
let folder: string;
let cluster: MemberCluster;
let written = 0;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  mail = await TenantMail.start();
  folder = mkdtempSync(join(tmpdir(), 'grove-rotation-'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, mailAuthority);
  cluster = await MemberCluster.start(nats(), {
    members: MEMBERS + 1,
    spare: 1,
    partitions: PARTITIONS,
    settings: mail.config.split('\n'),
    env: () => ({ NODE_EXTRA_CA_CERTS: authority, SVC_TRUST_FORWARDED_HEADERS: 'true' }),
  });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: 'red' }), 201);
  const anything = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', '/api/workspaces/red/load', anything), 204);
  const [first] = members() as [ClusterMember];
  const send = first.request.bind(first);
  const acme = await tenantOf(send, cluster.token, 'acme');
  await mail.configure(send, cluster.token);
  await mail.configure(send, acme, 'acme');
});

afterAll(async () => {
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
  await mail.stop();
});

const members = (): readonly ClusterMember[] => cluster.members.slice(0, MEMBERS);

async function warnings(member: ClusterMember): Promise<readonly string[]> {
  const { warnings: found } = await cluster.overview(member);
  return (found as { code: string; message: string }[]).map(({ code, message }) => `${code}: ${message}`);
}

/** Every member that is up reads and uses the secrets of both tenants, writes, and trusts the others. */
async function works(): Promise<void> {
  for (const member of cluster.up) {
    const send = member.request.bind(member);
    await mail.logIn(send, written % 2 === 0 ? 'default' : 'acme');
    written += 1;
    const node = { name: `node-${written}`, node_type: 'svc:Folder', properties: { title: 'a' } };
    const made = await cluster.adminAt(member, 'POST', '/api/repository/red/main/head/load/', node);
    expectStatus(made, 201);
    expect((await warnings(member)).filter((text) => /^(messages-refused|partition-qu)/.test(text))).toEqual(
      [],
    );
  }
}

/** Restarts the members one after the other, with other keys. */
async function roll(env: Readonly<Record<string, string>>): Promise<void> {
  for (const member of members()) {
    expect(await member.drain()).toBe(0);
    await member.start(env);
    await works();
  }
}

/** Waits until each member says that the former key can be removed. */
async function rotated(): Promise<void> {
  const [first] = members() as [ClusterMember];
  let told: readonly string[] = [];
  const isSo = async (): Promise<boolean> => {
    told = (await warnings(first)).filter((text) => text.startsWith('master-key-rotation'));
    return told.length === MEMBERS && told.every((text) => text.includes('can be removed'));
  };
  await until(isSo, 'nothing needs the former key', 120_000).catch((error: Error) => {
    throw new Error(`${error.message}: ${told.join('; ')}`);
  });
}

describe('the master key of a cluster', () => {
  it('is replaced by rolling restarts, and then opens and signs nothing that is left [CLU-049]', async () => {
    await works();
    await roll({ SVC_MASTER_KEY: former, SVC_MASTER_KEY_PREVIOUS: present });
    await roll({ SVC_MASTER_KEY: present, SVC_MASTER_KEY_PREVIOUS: former });
    await rotated();
    await roll({ SVC_MASTER_KEY: present });
    // One that has nothing yet reads snapshots and logs.
    const spare = cluster.member(MEMBERS);
    await spare.start({ SVC_MASTER_KEY: present });
    await works();
    await until(async () => {
      const { partitions } = await cluster.overview(spare);
      const followers = (partitions as { followers: { member: string; is_warm: boolean }[] }[]).flatMap(
        ({ followers: some }) => some,
      );
      return followers.some(({ member, is_warm: isWarm }) => member === spare.id && isWarm);
    }, 'the new member follows a partition');
    await works();
  });
});

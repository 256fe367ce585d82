import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  connect,
  createInbox,
  headers,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from '@nats-io/transport-node';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeServerCertificates } from '#operator/local-cluster/certificates.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { type Call, encodeFrame, FrameKind } from '#cluster/router/call-frames.ts';
import { decodeRecord, encodeOpening, encodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { STORED_SEAL_HEADER } from '#cluster/seal/log-seal.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { expectStatus } from '#test/support/content-client.ts';
import { MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { natsUsers, sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { callBytes } from '#test/support/call-bytes.ts';

const MEMBERS = ['m1', 'm2', 'm3'] as const;
const PARTITIONS = 4;
const subjects = new Subjects();
const base = '/api/repository/red/main/head/load';

/** Everything as `npm run cluster` has it: TLS, authorization of routes, a user with permissions for each member. */
const nats = sharedNatsCluster(3, { closedFor: MEMBERS });
const open: NatsConnection[] = [];
let cluster: MemberCluster;
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  cluster = await MemberCluster.start(nats(), { members: MEMBERS.length, partitions: PARTITIONS });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: 'red' }), 201);
  const anything = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', '/api/workspaces/red/load', anything), 204);
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

afterAll(() => cluster?.close());

/** Makes a node by way of each member: two of three send it to the owner. */
async function writeEverywhere(name: string): Promise<void> {
  for (const member of cluster.members) {
    const node = { name: `${name}-${member.id}`, node_type: 'svc:Folder', properties: { title: name } };
    expectStatus(await cluster.adminAt(member, 'POST', `${base}/`, node), 201);
  }
}

async function warnings(): Promise<readonly string[]> {
  const { warnings: found } = await cluster.overview();
  return (found as { code: string; message: string }[]).map(({ code, message }) => `${code}: ${message}`);
}

/** Somebody with all credentials NATS has, and without the master key. */
async function intruder(): Promise<NatsConnection> {
  const { pass, user } = natsUsers.grove;
  const connection = await connectToNats({
    urls: nats().urlsAs(user, pass),
    name: 'intruder',
    authorities: nats().authority,
  });
  open.push(connection);
  return connection;
}

/** Somebody with the credentials of one member. */
async function thief(): Promise<NatsConnection> {
  const { SVC_NATS_URL: urls = '' } = nats().environmentOf('m1');
  const connection = await connectToNats({
    urls: urls.split(','),
    name: 'thief',
    authorities: nats().authority,
    inbox: subjects.inbox('m1'),
  });
  open.push(connection);
  return connection;
}

/** A call as members made them before they signed. */
function forged(message: unknown, kind: Call['kind'] = 'query'): Uint8Array {
  const principal = { kind: 'system', tenant: 'default' } as const;
  return callBytes({ version: 1, kind, actor: 'default/tenant', message, principal, waitMs: 5_000 });
}

/** Sends something to every member, and waits until each has taken what was sent before. @returns what was answered */
async function answersTo(connection: NatsConnection, message: Uint8Array): Promise<readonly Msg[]> {
  const answers: Msg[] = [];
  const inbox = createInbox();
  const listening = connection.subscribe(inbox, { callback: (_error, answer) => void answers.push(answer) });
  for (const member of MEMBERS) connection.publish(subjects.calls(member), message, { reply: inbox });
  await connection.flush();
  // Behind it: what members ask each other for this is answered after what was sent to them before.
  await writeEverywhere(`after-${systemRandom.bytes(8).join('')}`);
  listening.unsubscribe();
  return answers.filter(({ headers }) => headers?.code !== 503);
}

describe('a closed cluster', () => {
  it('does all that members do, within the permissions of their users, and has no alarm', async () => {
    await writeEverywhere('first');
    const locks = `/api/locks/red/main`;
    expectStatus(await cluster.admin('POST', '/api/management/cluster/snapshots', {}), 202);
    for (const member of cluster.members)
      expect((await cluster.adminAt(member, 'GET', locks)).status).toBeLessThan(500);
    const [first] = cluster.members;
    await first?.drain();
    await writeOn(cluster.members[1]?.id as string);
    await first?.start();
    const unusual = async (): Promise<readonly string[]> =>
      (await warnings()).filter((each) => !each.startsWith('nats-settings'));
    await expect.poll(unusual, { timeout: 30_000 }).toEqual([]);
    // A server says so when somebody does what it may not.
    expect(nats().logs()).not.toMatch(/Permissions Violation|Violation for|Publish Violation/i);
    const denied = cluster.members.flatMap(({ log }) => /permissions? violation/i.exec(log) ?? []);
    expect(denied).toEqual([]);
  });

  it('rejects a server without its password, or with a certificate of another authority', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grove-rogue-'));
    const foreign = makeServerCertificates(['127.0.0.1'], Date.now(), systemRandom);
    // The certificate of the authority is no secret.
    writeFileSync(join(folder, 'ca.pem'), nats().authority);
    writeFileSync(join(folder, 'cert.pem'), foreign.server.certificate);
    writeFileSync(join(folder, 'key.pem'), foreign.server.key);
    const tls = `tls { cert_file: "${folder}/cert.pem", key_file: "${folder}/key.pem", ca_file: "${folder}/ca.pem" }`;
    const before = await routes();
    const attempts = [
      { login: '', block: '' },
      { login: 'route:guess@', block: '' },
      { login: '', block: tls },
      // Even with the password: it cannot show a certificate of the authority.
      { login: 'route:proute@', block: tls },
    ];
    for (const [index, { block, login }] of attempts.entries()) {
      const rogue = await startRogue(folder, login, block);
      const heard: string[] = [];
      const connection = await connect({ servers: rogue.url });
      connection.subscribe('>', { callback: (_error, { subject }) => void heard.push(subject) });
      await connection.flush();
      await rogue.tried();
      connection.publish(subjects.calls('m2'), forged({ type: 'FindAdmin', username: 'admin' }), {
        reply: 'rogue.inbox',
      });
      await connection.flush();
      await writeEverywhere(`beside-${index}`);
      await connection.flush();
      const others = heard.filter(
        (subject) => subject !== subjects.calls('m2') && !subject.startsWith('_INBOX'),
      );
      expect([await rogue.routes(), others]).toEqual([0, []]);
      await connection.close();
      await rogue.stop();
    }
    expect(await routes()).toEqual(before);
    rmSync(folder, { recursive: true, force: true });
  });

  it('takes no client without a login, in plain text or otherwise', async () => {
    const plain = nats().urls.map((url) => url.replace('tls://', 'nats://'));
    await expect(connect({ servers: plain, reconnect: false })).rejects.toThrow();
    await expect(
      connectToNats({ urls: nats().urls, name: 'x', authorities: nats().authority }),
    ).rejects.toThrow(/refuses the credentials/);
    const [server] = nats().servers;
    const said = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connectSocket(server?.port as number, '127.0.0.1');
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1');
      });
      socket.on('close', () => resolve(text));
      socket.write('CONNECT {"verbose":false}\r\nSUB > 1\r\n');
    });
    expect(said).not.toContain('MSG');
  });

  it('delivers nothing that is addressed to others to a client with the credentials of a member', async () => {
    const connection = await thief();
    const errors: string[] = [];
    void (async () => {
      for await (const status of connection.status())
        if (status.type === 'error') errors.push(String((status as { error?: Error }).error?.message));
    })();
    const heard: string[] = [];
    const wanted = [
      '>',
      subjects.calls('m2'),
      `${subjects.member('m2')}.>`,
      '_INBOX.>',
      subjects.allLogs,
      '$SYS.>',
    ];
    for (const subject of wanted)
      connection.subscribe(subject, {
        callback: (error, message) => void (error === null && heard.push(message.subject)),
      });
    await connection.flush();
    const gone = connection.request(`$JS.API.STREAM.DELETE.${subjects.logStream(0)}`, '', { timeout: 1_000 });
    await expect(gone).rejects.toThrow();
    await expect(connection.request('$SYS.REQ.SERVER.PING', '', { timeout: 1_000 })).rejects.toThrow();
    await writeEverywhere('unheard');
    expect(heard).toEqual([]);
    await expect.poll(() => errors.length).toBeGreaterThanOrEqual(wanted.length);
    // Its calls are as good as anybody's: it has no key.
    const answers = await connection
      .request(subjects.calls('m2'), forged({ type: 'FindAdmin', username: 'admin' }), { timeout: 1_000 })
      .catch((error: Error) => error.message);
    expect(answers).toMatch(/timeout/i);
  });

  it('rejects a client that has all credentials of NATS but not the key of the cluster', async () => {
    const connection = await intruder();
    expect(await answersTo(connection, forged({ type: 'FindAdmin', username: 'admin' }))).toEqual([]);
    const change = { type: 'ChangeAdminPassword', userId: 'x', oldPasswordHash: 'y', passwordHash: 'z' };
    expect(await answersTo(connection, forged(change, 'command'))).toEqual([]);
    expect(await cluster.member(0).process.logIn()).toEqual(expect.any(String));
    const told = (await warnings()).filter((each) => each.startsWith('messages-refused'));
    expect(told.join('\n')).toMatch(/m[123]: refused \d+ calls? not signed, claimed sender nobody/);
    const metrics = await cluster.member(1).request('GET', '/metrics');
    expect(Number(/^svc_messages_refused_total (\d+)/m.exec(metrics.text)?.[1])).toBeGreaterThan(0);
  });

  it('neither executes nor answers a replayed message, with any recipient', async () => {
    const connection = await intruder();
    const recorded: { readonly subject: string; readonly reply: string; readonly data: Uint8Array }[] = [];
    const recording = connection.subscribe(subjects.allCalls, {
      callback: (_error, { data, reply, subject }) =>
        void recorded.push({ subject, reply: reply as string, data: Uint8Array.from(data) }),
    });
    await connection.flush();
    await writeEverywhere('once');
    await connection.flush();
    recording.unsubscribe();
    expect(recorded.length).toBeGreaterThanOrEqual(2);
    const answers: string[] = [];
    connection.subscribe('_INBOX.replayed.>', {
      callback: (_error, { subject }) => void answers.push(subject),
    });
    connection.subscribe('_INBOX.m*.>', { callback: () => undefined });
    const children = async (): Promise<number> =>
      (await cluster.admin('GET', `${base}/?limit=1000`)).json.items?.length ?? Number.NaN;
    const before = await children();
    for (const { data, reply } of recorded)
      for (const member of MEMBERS) {
        connection.publish(subjects.calls(member), data, { reply });
        connection.publish(subjects.calls(member), data, { reply: '_INBOX.replayed.1' });
      }
    await connection.flush();
    expect(await children()).toBe(before);
    expect(answers).toEqual([]);
    await expect
      .poll(async () => (await warnings()).join('\n'))
      .toMatch(/calls? sent again, claimed sender m[123]/);
    expect((await warnings()).join('\n')).toMatch(/calls? with a wrong signature, claimed sender m[123]/);
  });

  it('takes no answer but that of the member that was asked', async () => {
    const connection = await intruder();
    const lie = encodeFrame(FrameKind.text, true, 0, Buffer.from('{"lie":true}'));
    connection.subscribe(subjects.allCalls, {
      callback: (_error, { reply }) => {
        if (reply !== undefined) connection.publish(reply, lie, { reply: 'grove.member.m1.made-up' });
      },
    });
    await connection.flush();
    const readEverywhere = async (): Promise<string> => {
      for (const member of cluster.members) {
        const { json, status } = await cluster.adminAt(member, 'GET', `${base}/first-m1`);
        expect([status, json.name, json.lie]).toEqual([200, 'first-m1', undefined]);
      }
      return (await warnings()).join('\n');
    };
    // A lie that comes after the answer is for a call that is over: it is not even refused.
    await expect.poll(readEverywhere, { timeout: 30_000 }).toMatch(/refused \d+ answers? not signed/);
  });

  it('redirects no request because of forged heartbeats, and keeps its streams from a client with credentials alone', async () => {
    const connection = await intruder();
    const heartbeats: Uint8Array[] = [];
    const listening = connection.subscribe(subjects.heartbeats, {
      callback: (_error, { data }) => void heartbeats.push(Uint8Array.from(data)),
    });
    await expect.poll(() => heartbeats.length, { timeout: 10_000 }).toBeGreaterThan(0);
    listening.unsubscribe();
    const beat = JSON.parse(Buffer.from(heartbeats[0] as Uint8Array).toString());
    const claims = Array.from({ length: PARTITIONS }, (_, partition) => [partition, 1_000_000]);
    const made = { ...beat, member: 'm9', incarnation: 'f'.repeat(16), owned: claims };
    connection.publish(subjects.heartbeats, JSON.stringify(made));
    connection.publish(
      subjects.heartbeats,
      JSON.stringify({ ...beat, beat: beat.beat + 1_000_000, isLeaving: true }),
    );
    await connection.flush();
    await writeEverywhere('unmoved');
    const { members } = await cluster.overview();
    expect(members.map(({ id }: { id: string }) => id)).toEqual([...MEMBERS]);
    const manager = await jetstreamManager(await thief());
    await expect(manager.streams.delete(subjects.logStream(0))).rejects.toThrow();
  });
});

describe('the log of a partition', () => {
  /** What an intruder knows of a log: its last message, as everybody with credentials may read it. */
  async function lastOf(connection: NatsConnection, partition: number) {
    const { streams } = await jetstreamManager(connection);
    const stream = subjects.logStream(partition);
    const { state } = await streams.info(stream);
    const found = await streams.getMessage(stream, { seq: state.last_seq });
    if (found === null) throw new Error(`${stream} has no last message`);
    const record = decodeRecord(Buffer.from(found.data));
    if ('fault' in record) throw new Error(record.fault);
    return { found, record };
  }

  it('accepts no record of a client without the key, nor a replay of its own', async () => {
    const connection = await intruder();
    const client = jetstream(connection);
    const red = cluster.partitionOf('red');
    const [other] = [0, 1, 2, 3].filter((partition) => partition !== red) as [number];
    const { found, record } = await lastOf(connection, red);
    // A new owner, under the next epoch: right in all but that no member wrote it.
    const body = encodeOpening({ member: 'm9', nonce: Buffer.alloc(16, 9) });
    const fields = {
      ...record,
      kind: RecordKind.open,
      entries: 0,
      epoch: record.epoch + 1,
      previousChain: record.chain,
    };
    const { bytes } = encodeRecord(fields, body);
    await client.publish(subjects.log(red), bytes, { expect: { lastSequence: found.seq } });
    const again = await lastOf(connection, other);
    const replayed = { expect: { lastSequence: again.found.seq }, headers: sealOf(again.found.header) };
    await client.publish(subjects.log(other), again.found.data, replayed);
    const told = async (): Promise<string> => (await warnings()).join('\n');
    for (const partition of [red, other])
      await expect
        .poll(told, { timeout: 30_000 })
        .toMatch(new RegExp(`partition-quarantined: (m\\d: )?partition ${partition} .*no member signed it`));
    // What was there stays: members read what they have.
    const local = { 'X-Svc-Consistency': 'local' };
    for (const member of cluster.members) {
      const { json, status } = await cluster.adminAt(member, 'GET', `${base}/first-m1`, undefined, local);
      expect([status, json.name]).toEqual([200, 'first-m1']);
    }
  });
});

/** The seal of a stored message, as it stands there. */
function sealOf(found: MsgHdrs): MsgHdrs {
  const sealed = headers();
  sealed.set(STORED_SEAL_HEADER, found.get(STORED_SEAL_HEADER));
  return sealed;
}

/** Writes once more while a member is away. */
async function writeOn(id: string): Promise<void> {
  const member = cluster.members.find((each) => each.id === id) ?? cluster.member(1);
  const node = { name: `on-${id}`, node_type: 'svc:Folder', properties: { title: id } };
  expectStatus(await cluster.adminAt(member, 'POST', `${base}/`, node), 201);
}

/** Routes each server has to others, by its page. */
async function routes(): Promise<readonly unknown[]> {
  return await Promise.all(
    nats().servers.map(
      async (server) => ((await server.page('/routez')) as { num_routes: number }).num_routes,
    ),
  );
}

/** A nats-server somebody else started, which wants to be one of those of the cluster. */
async function startRogue(folder: string, login: string, tls: string) {
  const remote = nats().servers.map(({ routePort }) => `nats-route://${login}127.0.0.1:${routePort}`);
  const file = join(folder, 'rogue.conf');
  const lines = [
    'listen: "127.0.0.1:-1"',
    'http: "127.0.0.1:-1"',
    'cluster {',
    '  name: grove-test',
    '  listen: "127.0.0.1:-1"',
    tls,
    `  routes: [${remote.join(', ')}]`,
    '}',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const child = spawn(requiredProgram('nats-server'), ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const found = async (pattern: RegExp): Promise<string> => {
    await expect.poll(() => pattern.exec(log)?.[1], { timeout: 10_000, message: log }).toBeDefined();
    return pattern.exec(log)?.[1] as string;
  };
  const client = await found(/Listening for client connections on 127\.0\.0\.1:(\d+)/);
  const monitor = await found(/Starting http monitor on 127\.0\.0\.1:(\d+)/);
  return {
    url: `nats://127.0.0.1:${client}`,
    /** Each server has sent it away. */
    tried: async () => {
      const refused = /error|Violation|refused|closed|failure/gi;
      await expect.poll(() => log.match(refused)?.length ?? 0, { timeout: 15_000 }).toBeGreaterThanOrEqual(3);
    },
    routes: async (): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${monitor}/routez`);
      return ((await answer.json()) as { num_routes: number }).num_routes;
    },
    stop: async () => {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

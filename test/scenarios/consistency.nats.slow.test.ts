import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareRevisions, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { expectStatus, revisionOf } from '#test/support/content-client.ts';
import { callsOf } from '#test/support/heard-calls.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { type ClusterMember, MemberCluster, showLogsOfFailures } from '#test/support/member-cluster.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { NatsLink } from '#test/support/tcp-proxy.ts';

/** Longest something is waited for, in milliseconds. */
const PATIENCE_MS = 60_000;

/** Between two looks, in milliseconds. */
const POLL_MS = 25;

/** The repository all of this is about. */
const REPOSITORY = 'site';

const baseOf = (branch: string): string => `/api/repository/${REPOSITORY}/${branch}/head/content`;
const base = baseOf('main');
const managed = `/api/management/repositories/default/${REPOSITORY}`;
const strict = { 'x-svc-consistency': 'strict' };
const local = { 'x-svc-consistency': 'local' };

type Json = TestResponse['json'];

const nats = sharedNatsCluster(3, { cluster: ['  no_advertise: true'] });
let cluster: MemberCluster;
let links: readonly NatsLink[];
/** While it is there members know nothing new without asking. */
const oldFile = join(mkdtempSync(join(tmpdir(), 'grove-consistency-')), 'old');
showLogsOfFailures(() => cluster);

beforeAll(async () => {
  links = await Promise.all([0, 1, 2].map(() => NatsLink.to(nats())));
  cluster = await MemberCluster.start(nats(), {
    members: 3,
    // One, so that whoever owns the repository owns the registry it is found in: nothing else has to be reached.
    partitions: 1,
    env: (index) => ({
      SVC_NATS_URL: (links[index] as NatsLink).urls.join(','),
      GROVE_TEST_OLD_FILE: oldFile,
    }),
    preload: [join(import.meta.dirname, '../support/stale-local-reads.ts')],
    // It changes a module of the program, which therefore has to be in a file of its own.
    main: join(import.meta.dirname, '../../server/main.ts'),
  });
  expectStatus(await cluster.admin('POST', '/api/repositories', { repo_id: REPOSITORY }), 201);
  const open = { allowed_node_types: [], allowed_root_node_types: [] };
  expectStatus(await cluster.admin('PUT', `/api/workspaces/${REPOSITORY}/content`, open), 204);
  await cluster.settled();
});

afterAll(async () => {
  await cluster?.close();
  await Promise.all((links ?? []).map((link) => link.close()));
  rmSync(dirname(oldFile), { recursive: true, force: true });
});

const linkOf = (member: ClusterMember): NatsLink => links[cluster.members.indexOf(member)] as NatsLink;

const othersThan = (member: ClusterMember): ClusterMember[] =>
  cluster.members.filter((each) => each !== member);

function create(member: ClusterMember, name: string, headers = {}): Promise<TestResponse> {
  const node = { name, node_type: 'svc:Folder', properties: { title: name } };
  return cluster.adminAt(member, 'POST', `${base}/`, node, headers);
}

function retitle(member: ClusterMember, name: string, title: string): Promise<TestResponse> {
  return cluster.adminAt(member, 'PUT', `${base}/${name}`, { properties: { title } });
}

function read(member: ClusterMember, name: string, headers = {}, branch = 'main'): Promise<TestResponse> {
  return cluster.adminAt(member, 'GET', `${baseOf(branch)}/${name}`, undefined, headers);
}

const titleOf = ({ json }: TestResponse): unknown => json.properties?.title;

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const seen = await look().catch(() => undefined);
    if (seen !== undefined) return seen;
    if (performance.now() > endMs) throw new Error(`not so in ${PATIENCE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Readers of a node at one member that begin anew as soon as they are answered: none may see what is over. */
class Probe {
  readonly #wrong: string[] = [];
  readonly #readers: readonly Promise<void>[];
  readonly #over = new Set<unknown>();
  #isStopping = false;

  constructor(member: ClusterMember, name: string) {
    this.#readers = [{}, strict].map((headers) => this.#read(member, name, headers));
  }

  /** Another value has been acknowledged instead: whoever asks from now on may not be answered this one. */
  isOver(title: string): void {
    this.#over.add(title);
  }

  /** @returns sentences about answers that cannot be */
  async stop(): Promise<readonly string[]> {
    this.#isStopping = true;
    await Promise.all(this.#readers);
    return this.#wrong;
  }

  async #read(member: ClusterMember, name: string, headers: object): Promise<void> {
    while (!this.#isStopping) {
      const over = [...this.#over];
      const answer = await read(member, name, headers);
      if (answer.status === 200 && over.includes(titleOf(answer)))
        this.#wrong.push(`${JSON.stringify(headers)} was answered '${titleOf(answer)}', which was over`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

/** Owners and epochs of all partitions, as one member sees them. */
async function ownership(member: ClusterMember): Promise<string[]> {
  const { partitions } = await cluster.overview(member);
  return partitions.map(({ epoch, owner }: Json) => `${owner} ${epoch}`);
}

async function lastSequences(member: ClusterMember): Promise<number> {
  const { partitions } = await cluster.overview(member);
  return partitions.reduce((sum: number, { last_sequence }: Json) => sum + last_sequence, 0);
}

describe('reads of a cluster', () => {
  it('strict: what was acknowledged anywhere is read on every member, behind a barrier [CLU-003] [HTTP-042]', async () => {
    for (let round = 0; round < 9; round++) {
      const writer = cluster.member(round % 3);
      const written = expectStatus(await create(writer, `strict-${round}`), 201);
      for (const member of cluster.members) {
        const answer = expectStatus(await read(member, `strict-${round}`, strict), 200);
        expect(answer.json).toEqual(written.json);
        expect(revisionOf(answer)).toBe(revisionOf(written));
      }
    }
    const owner = await cluster.ownerOf(REPOSITORY);
    const before = await lastSequences(owner);
    expectStatus(await read(owner, 'strict-0', strict), 200);
    expect(await lastSequences(owner)).toBeGreaterThan(before);
  });

  it('local: a follower shows a revision it names, at or after what the client has seen [HTTP-040] [HTTP-041]', async () => {
    const least = parseRevision(revisionOf(expectStatus(await create(cluster.member(0), 'local'), 201)));
    for (let round = 0; round < 30; round++) {
      const writer = cluster.member(round % 3);
      const written = expectStatus(await retitle(writer, 'local', `title ${round}`), 200);
      const revision = revisionOf(written);
      const answers = await Promise.all(
        cluster.members.map((member) => read(member, 'local', { ...local, 'x-svc-min-revision': revision })),
      );
      for (const answer of answers) {
        expect([answer.status, titleOf(answer), revisionOf(answer)]).toEqual([
          200,
          `title ${round}`,
          revision,
        ]);
      }
      // Without it, some state there was, and all of it as of the revision that is named.
      for (const member of cluster.members) {
        const free = expectStatus(
          await read(member, 'local', { ...local, 'x-svc-min-revision': `${least.ms}-${least.counter}` }),
          200,
        );
        const shown = revisionOf(free);
        expect(compareRevisions(parseRevision(shown), least)).toBeGreaterThanOrEqual(0);
        const then = `/api/repository/${REPOSITORY}/main/rev/${shown}/content/local`;
        expect(titleOf(await cluster.adminAt(member, 'GET', then))).toBe(titleOf(free));
      }
    }
    const owner = await cluster.ownerOf(REPOSITORY);
    for (const member of othersThan(owner)) {
      const { revisions } = expectStatus(
        await cluster.adminAt(
          member,
          'GET',
          `/api/management/repositories/default/${REPOSITORY}/revisions?limit=1`,
          undefined,
          local,
        ),
        200,
      ).json;
      expect(compareRevisions(parseRevision(revisions[0].revision), least)).toBeGreaterThanOrEqual(0);
    }
  });

  it('local: a revision that a client has seen is found on every member, on a new branch too', async () => {
    const owner = await cluster.ownerOf(REPOSITORY);
    for (let round = 0; round < 6; round++) {
      const name = `just-${round}`;
      const branch = { name, upstream_branch: 'main' };
      expectStatus(await cluster.adminAt(owner, 'POST', `${managed}/branches`, branch), 201);
      const path = `/api/repository/${REPOSITORY}/${name}/head/content/`;
      const written = await cluster.adminAt(owner, 'POST', path, { name, node_type: 'svc:Folder' });
      const revision = revisionOf(expectStatus(written, 201));
      for (const member of othersThan(owner)) {
        for (const where of ['', `?branch=${name}`]) {
          const found = `${managed}/revisions/${revision}${where}`;
          const answer = await cluster.adminAt(member, 'GET', found, undefined, local);
          expect(expectStatus(answer, 200).json.revision).toBe(revision);
        }
      }
    }
  });

  it('take one call to the owner at another member, and so does a write and a lock', async () => {
    const owner = await cluster.ownerOf(REPOSITORY);
    const [other] = othersThan(owner) as [ClusterMember];
    const locks = new LocksClient(other.process, cluster.token, REPOSITORY);
    expectStatus(await create(other, 'called'), 201);
    await locks.release('called', await locks.taken('called'));
    const called = await callsOf(nats(), owner, REPOSITORY, async () => {
      for (let count = 0; count < 3; count++) {
        expect(titleOf(expectStatus(await read(other, 'called'), 200))).toBe('called');
        expectStatus(await retitle(other, 'called', 'called'), 200);
        await locks.taken(`called ${count}`);
      }
    });
    const once = ['ReadAtHead', 'UpdateNode', 'AcquireLock'];
    expect(called).toEqual([...once, ...once, ...once]);
  });

  it('and writes reach the recreated branch, on any member that lags behind', async () => {
    const branches = `${managed}/branches`;
    const made = { name: 'again', upstream_branch: 'main' };
    expectStatus(await cluster.admin('POST', branches, made), 201);
    /** Asks every member for all that can be asked of the branch. @returns statuses and codes */
    const askAll = async (name: string) => {
      const node = { name, node_type: 'svc:Folder', properties: { title: name } };
      const answers = [];
      for (const member of cluster.members) {
        const locks = new LocksClient(member.process, cluster.token, REPOSITORY, 'again');
        answers.push(
          await read(member, 'old', {}, 'again'),
          await cluster.adminAt(member, 'POST', `${baseOf('again')}/`, {
            ...node,
            name: `${name}-${member.id}`,
          }),
          await locks.acquire(`${name}-${member.id}`),
        );
      }
      return answers.map(({ json, status }) => (status < 300 ? status : json.code));
    };
    const ofEach = <T>(answers: readonly T[]): T[] => cluster.members.flatMap(() => answers);
    for (const isKept of [false, true]) {
      const old = { name: 'old', node_type: 'svc:Folder', properties: { title: 'old' } };
      const written = await cluster.admin('POST', `${baseOf('again')}/`, old);
      const revision = revisionOf(expectStatus(written, 201));
      const seen = { ...local, 'x-svc-min-revision': revision };
      for (const member of cluster.members) expectStatus(await read(member, 'old', seen, 'again'), 200);
      expect(await askAll(`first-${isKept}`)).toEqual(ofEach([200, 201, 200]));
      if (isKept)
        expectStatus(await cluster.admin('POST', `${managed}/tags`, { name: 'kept', revision }), 201);
      writeFileSync(oldFile, '');
      expectStatus(await cluster.admin('DELETE', `${branches}/again`), 204);
      expect(await askAll('late')).toEqual(
        ofEach(['BRANCH_NOT_FOUND', 'BRANCH_NOT_FOUND', 'BRANCH_NOT_FOUND']),
      );
      expectStatus(await cluster.admin('POST', branches, made), 201);
      expect(await askAll(`next-${isKept}`)).toEqual(ofEach(['NODE_NOT_FOUND', 201, 200]));
      rmSync(oldFile);
      // Each of those was written once, to the new one.
      const list = expectStatus(await cluster.admin('GET', `${baseOf('again')}/`), 200).json;
      const names = list
        .map(({ name }: Json) => name)
        .filter((name: string) => /^(old|first|late|next)/.test(name));
      expect(names.sort()).toEqual(cluster.members.map(({ id }) => `next-${isKept}-${id}`));
    }
    for (const member of cluster.members) {
      expect(titleOf(expectStatus(await read(member, 'old', {}, 'kept'), 200))).toBe('old');
      for (const { id } of cluster.members)
        expect((await read(member, `next-true-${id}`, {}, 'kept')).status).toBe(404);
    }
  });

  it('local goes on while the owner is paused, and a strict read through it afterwards is not stale', async () => {
    const owner = await cluster.ownerOf(REPOSITORY);
    const [other, third] = othersThan(owner) as [ClusterMember, ClusterMember];
    const written = expectStatus(await create(other, 'still'), 201);
    const seen = { ...local, 'x-svc-min-revision': revisionOf(written) };
    for (const member of [other, third]) expectStatus(await read(member, 'still', seen), 200);
    const before = await ownership(other);
    owner.pause();
    for (const member of [other, third]) {
      const answer = expectStatus(await read(member, 'still', seen), 200);
      expect(titleOf(answer)).toBe('still');
      const listing = expectStatus(await cluster.adminAt(member, 'GET', `${base}/`, undefined, seen), 200);
      expect(listing.json.map(({ name }: Json) => name)).toContain('still');
    }
    // Nobody had taken over: those were answered by followers.
    expect(await ownership(other)).toEqual(before);
    // And nothing stops while somebody does.
    await until('another member owns it', async () => {
      expect(titleOf(expectStatus(await read(third, 'still', seen), 200))).toBe('still');
      return (await ownership(third)).every((each) => !each.startsWith(`${owner.id} `)) || undefined;
    });
    const rewritten = expectStatus(await retitle(other, 'still', 'moved on'), 200);
    owner.resume();
    const first = await read(owner, 'still', strict);
    expect([first.status, titleOf(first)]).toEqual([200, 'moved on']);
    const back = await read(owner, 'still', { ...local, 'x-svc-min-revision': revisionOf(rewritten) });
    expect([back.status, titleOf(back)]).toEqual([200, 'moved on']);
  });

  it('of an owner that is cut off: writes are refused and not applied, no strict read is stale, local ones continue [CLU-012]', async () => {
    await cluster.settled();
    const owner = await cluster.ownerOf(REPOSITORY);
    const [other] = othersThan(owner) as [ClusterMember];
    expectStatus(await create(other, 'cut'), 201);
    linkOf(owner).cut();
    const probe = new Probe(owner, 'cut');
    await until('it knows that it is cut off', async () =>
      (await owner.request('GET', '/ready')).status === 503 ? true : undefined,
    );
    const refusals = await Promise.all([create(owner, 'minority'), read(owner, 'cut', strict)]);
    for (const { json, status } of refusals) expect([status, json.code]).toEqual([503, 'LOG_UNAVAILABLE']);
    expect(titleOf(expectStatus(await read(owner, 'cut', local), 200))).toBe('cut');
    // The others go on as soon as its lease has ended.
    const rewritten = await until('another member takes writes', async () => {
      const answer = await retitle(other, 'cut', 'elsewhere');
      return answer.status === 200 ? answer : undefined;
    });
    probe.isOver('cut');
    // Also its lease has ended: it has nothing newer and says so.
    const later = await Promise.all([
      read(owner, 'cut'),
      read(owner, 'cut', strict),
      create(owner, 'minority'),
    ]);
    for (const { json, status } of later) expect([status, json.code]).toEqual([503, 'LOG_UNAVAILABLE']);
    const old = expectStatus(await read(owner, 'cut', local), 200);
    const [was, is] = [old, rewritten].map((answer) => parseRevision(revisionOf(answer)));
    expect([titleOf(old), compareRevisions(was as Revision, is as Revision) < 0]).toEqual(['cut', true]);
    expect(titleOf(await read(other, 'cut', strict))).toBe('elsewhere');
    expect(await probe.stop()).toEqual([]);
    linkOf(owner).restore();
    await until('it is connected again', async () =>
      (await owner.request('GET', '/ready')).status === 200 ? true : undefined,
    );
    for (const member of cluster.members) {
      expect(titleOf(expectStatus(await read(member, 'cut', strict), 200))).toBe('elsewhere');
      expect((await read(member, 'minority', strict)).status).toBe(404);
    }
    const seen = { ...local, 'x-svc-min-revision': revisionOf(rewritten) };
    expect(titleOf(expectStatus(await read(owner, 'cut', seen), 200))).toBe('elsewhere');
  });

  it('of an owner whose cable is pulled: none is old, though it does not know yet that it is cut off', async () => {
    await cluster.settled();
    const owner = await cluster.ownerOf(REPOSITORY);
    const [other] = othersThan(owner) as [ClusterMember];
    expectStatus(await create(other, 'pulled'), 201);
    linkOf(owner).silence();
    const probe = new Probe(owner, 'pulled');
    // Asked while the connection still seems to be there, and answered when it is back, if at all.
    const early = read(owner, 'pulled', strict);
    expect(titleOf(expectStatus(await read(owner, 'pulled', local), 200))).toBe('pulled');
    const rewritten = await until('another member takes writes', async () => {
      const answer = await retitle(other, 'pulled', 'elsewhere');
      return answer.status === 200 ? answer : undefined;
    });
    probe.isOver('pulled');
    const plain = await read(owner, 'pulled');
    expect([plain.status >= 500, titleOf(plain)]).toEqual([true, undefined]);
    expect(titleOf(expectStatus(await read(owner, 'pulled', local), 200))).toBe('pulled');
    expect(await probe.stop()).toEqual([]);
    linkOf(owner).restore();
    const late = await early;
    if (late.status === 200) expect(titleOf(late)).toMatch(/pulled|elsewhere/);
    else expect(late.status).toBeGreaterThanOrEqual(503);
    await until('it is connected again', async () =>
      (await owner.request('GET', '/ready')).status === 200 ? true : undefined,
    );
    const fresh = expectStatus(await read(owner, 'pulled', strict), 200);
    expect([titleOf(fresh), revisionOf(fresh)]).toEqual(['elsewhere', revisionOf(rewritten)]);
  });

  it('local continue without any NATS server, on every member, and nothing else does [CLU-012]', async () => {
    await cluster.settled();
    const written = expectStatus(await create(cluster.member(0), 'alone'), 201);
    const seen = { ...local, 'x-svc-min-revision': revisionOf(written) };
    for (const member of cluster.members) expectStatus(await read(member, 'alone', seen), 200);
    await Promise.all(nats().servers.map((server) => server.kill()));
    await Promise.all(
      cluster.members.map(async (member) => {
        await until('it knows', async () =>
          (await member.request('GET', '/ready')).status === 503 ? true : undefined,
        );
        expect(titleOf(expectStatus(await read(member, 'alone', seen), 200))).toBe('alone');
        const listing = expectStatus(await cluster.adminAt(member, 'GET', `${base}/`, undefined, seen), 200);
        expect(listing.json.map(({ name }: Json) => name)).toContain('alone');
        // What nobody here has, only the owner could have.
        const unseen = { ...local, 'x-svc-min-revision': '4000000000000-0' };
        const answers = await Promise.all([create(member, 'nowhere'), read(member, 'alone', strict)]);
        for (const { json, status } of answers) expect([status, json.code]).toEqual([503, 'LOG_UNAVAILABLE']);
        // An owner whose lease holds still knows that nobody can have written that.
        const { json } = await read(member, 'alone', unseen);
        expect(['LOG_UNAVAILABLE', 'CONFLICT']).toContain(json.code);
      }),
    );
    for (const server of nats().servers) server.start();
    await nats().ready();
    await until('writes are taken again', async () =>
      (await retitle(cluster.member(1), 'alone', 'again')).status === 200 ? true : undefined,
    );
    for (const member of cluster.members) {
      expect(
        titleOf(
          await until('strict reads are back', async () => {
            const answer = await read(member, 'alone', strict);
            return answer.status === 200 ? answer : undefined;
          }),
        ),
      ).toBe('again');
      expect((await read(member, 'nowhere', strict)).status).toBe(404);
    }
  });
});

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LockGrant, PoolClaim } from '#actors/locks/messages.ts';
import type { TagEntry } from '#actors/repository/messages.ts';
import { EVERY_BRANCH } from '#actors/repository/repository-tables.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { tableNamesOf } from '#server/backup/take-backup.ts';
import type { RepositoryAddress } from '#protocols/rest/ports.ts';
import type { ActorCopies } from '#runtime/actor/copies/actor-copies.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { BackupKey } from '#runtime/backup/backup-key.ts';
import type { BackupManifest } from '#runtime/backup/manifest.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { RESTORE_MARGIN } from '#runtime/base/token-floor.ts';
import { Replica } from '#runtime/commit/replica.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeEntry, encodeEntry, entrySize } from '#runtime/log/entry-codec.ts';
import type { LogEntry, LogRecord } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { JobRecord } from '#runtime/jobs/job.ts';
import { END } from '#runtime/shard/binary-key.ts';
import { losingAnswers } from '#test/support/answer-losing-router.ts';
import { BackupFixture, rowsOfFile, type StoredRows, WORKSPACE } from '#test/support/backup-fixture.ts';

let member: BackupFixture;
let blog: RepositoryAddress;

beforeEach(async () => {
  member = await BackupFixture.open();
  blog = await member.repository('blog');
});

afterEach(() => member.close());

const engine = engineCaller('default');

function manifestOf(name: string): BackupManifest {
  return JSON.parse(readFileSync(join(member.folder, name, 'manifest.json'), 'utf8')) as BackupManifest;
}

/** Makes the locks of `main`, as a first acquire would, and takes a lock. */
async function acquire(repository: RepositoryAddress, key: string): Promise<LockGrant> {
  const locks = `${member.branch(repository)}/locks`;
  await member.fixture.host.create(locks);
  const command = { type: 'AcquireLock', key, ttlMs: 60_000, waitMs: 0, owner: null };
  return await member.fixture.command<LockGrant>(locks, command);
}

function without(rows: StoredRows, ...names: readonly string[]): StoredRows {
  return new Map([...rows].filter(([key]) => !names.some((name) => key.startsWith(name))));
}

describe('a backup of a repository', () => {
  it('restores under another name with every row of content, history, schema and tags [BAK-001] [BAK-005]', async () => {
    await member.create(blog, '/a', 'first');
    const tagged = await member.create(blog, '/a/b');
    await member.branches.createTag(
      blog,
      { name: 'v1', revision: parse(tagged), createdBy: 'test', message: null, protected: true },
      { caller: engine },
    );
    await member.fork(blog, 'draft');
    await member.create(blog, '/on-draft', 'x', 'draft');
    const place = { path: '/a' };
    const update = { type: 'UpdateNode', workspace: WORKSPACE, place, properties: { title: 'second' } };
    await member.fixture.command(`${member.branch(blog)}/branch`, update);
    await member.fixture.command(`${member.branch(blog)}/branch`, {
      type: 'MergeBranch',
      source: `${member.branch(blog, 'draft')}/branch`,
      sourceName: 'draft',
      strategy: 'ThreeWay',
      dryRun: false,
    } as { type: string });
    const made = await member.backup({ name: 'one', repository: { tenant: 'default', name: 'blog' } });
    expect(made).toMatchObject({ state: 'done', error: undefined, actors: 4 });

    const restored = await member.restore({ backup: 'one', target: { tenant: 'default', name: 'copy' } });
    expect(restored).toMatchObject({ state: 'done', error: undefined, bytes: restored.bytesTotal });
    const copy = await member.found('copy');
    for (const branch of ['main', 'draft']) {
      const before = await member.rowsAsRestored(`${member.branch(blog, branch)}/branch`);
      const after = await member.rows(`${member.branch(copy, branch)}/branch`);
      expect(after.size).toBeGreaterThan(50);
      // What a merge brought names the branch it came from by its actor.
      expect(without(after, 'ancestry')).toEqual(without(before, 'ancestry'));
      const homes = [...after].filter(([key]) => key.startsWith('ancestry')).map(([, value]) => value);
      expect(homes).toHaveLength(branch === 'main' ? 1 : 0);
      for (const home of homes) expect(home).toContain(`${member.branch(copy, 'draft')}/branch`);
    }
    const own = ['settings', 'tokens', 'meta outbox'];
    expect(without(await member.rows(copy.actor), ...own)).toEqual(
      without(await member.rows(blog.actor), ...own),
    );
    const tag = member.fixture.query<TagEntry>(copy.actor, { type: 'FindTag', name: 'v1' } as {
      type: string;
    });
    expect(tag).toMatchObject({ revision: tagged, protected: true });
    expect(await member.create(copy, '/after')).not.toBe('');
  });

  it('gives the restored repository revisions above every one it has [BAK-006]', async () => {
    const ahead = await BackupFixture.open({
      folder: member.folder,
      clock: { ...systemClock, wallMs: () => 4_000_000_000_000 },
    });
    const site = await ahead.repository('site');
    const newest = await ahead.create(site, '/a');
    await ahead.backup({ name: 'ahead', repository: { tenant: 'default', name: 'site' } });
    await ahead.close();
    await member.restore({ backup: 'ahead' });
    const later = await member.create(await member.found('site'), '/b');
    expect(compare(later, newest)).toBeGreaterThan(0);
    expect(newest.startsWith('4000000000000')).toBe(true);
  });

  it('never hands out a fence token again, of any branch, and drops leases but keeps pools [BAK-007]', async () => {
    const { token } = await acquire(blog, 'a');
    const locks = `${member.branch(blog)}/locks`;
    const claim = { type: 'ClaimUnits', pool: 'tickets', n: 3, capacity: 10 };
    await member.fixture.command<PoolClaim>(locks, claim);
    await member.backup({ name: 'held', repository: { tenant: 'default', name: 'blog' } });
    await member.restore({ backup: 'held', target: { tenant: 'default', name: 'copy' } });
    const copy = await member.found('copy');
    const rows = await member.rows(`${member.branch(copy)}/locks`);
    expect([...rows.keys()].filter((key) => key.startsWith('leases'))).toEqual([]);
    expect(without(rows, 'meta')).toEqual(without(await member.rows(locks), 'meta', 'leases'));
    const again = await acquire(copy, 'a');
    expect(again.token).toBeGreaterThan(token + RESTORE_MARGIN);
    // Restored once more, as of the same moment: what the first one handed out since is not in the backup.
    await member.restore({ backup: 'held', target: { tenant: 'default', name: 'second' } });
    expect((await acquire(await member.found('second'), 'a')).token).toBeGreaterThan(again.token);
    // A branch that was made after the backup and lost has no name there.
    await member.fork(copy, 'lost-since');
    const lost = `${member.branch(copy, 'lost-since')}/locks`;
    await member.fixture.host.create(lost);
    const first = { type: 'AcquireLock', key: 'a', ttlMs: 1000, waitMs: 0, owner: null };
    expect((await member.fixture.command<LockGrant>(lost, first)).token).toBeGreaterThan(RESTORE_MARGIN);
    const floors = [...(await member.rows(copy.actor)).keys()].filter((key) => key.startsWith('tokens'));
    expect(floors).toEqual([`tokens ${EVERY_BRANCH}${END}`]);
  });

  it('lets what remained to be done be done in the restored repository, on its own branches [BAK-008]', async () => {
    await member.create(blog, '/a');
    const from = await member.create(blog, '/b');
    await member.create(blog, '/c');
    await member.branches.createBranch(
      blog,
      {
        name: 'old',
        upstreamBranch: 'main',
        fromRevision: parse(from),
        createdBy: 'test',
        protected: false,
        description: null,
      },
      { caller: engine },
    );
    await member.backup({ name: 'jobs', repository: { tenant: 'default', name: 'blog' } });
    await member.restore({ backup: 'jobs', target: { tenant: 'default', name: 'copy' } });
    const copy = await member.found('copy');
    const scope = copy.actor.replace(/\/repository$/, '');
    const page = { limit: 10, offset: 0 };
    const jobs = await member.jobs.queue.list(scope, page, engine);
    expect(jobs).toHaveLength(1);
    const [job] = jobs as [JobRecord];
    expect(job).toMatchObject({
      state: 'scheduled',
      type: 'RevisionHistoryCopy',
      payload: { branch: `${member.branch(copy, 'old')}/branch` },
    });
    expect(await member.jobs.queue.find(scope, job.id, engine)).toBeDefined();
    expect(copy.part.endsWith(job.id.slice(-10))).toBe(true);
  });

  it('forgets the outcomes of keyed requests', async () => {
    const main = `${member.branch(blog)}/branch`;
    const command = {
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: '/',
      node: { name: 'a', nodeType: 'svc:Folder', properties: {} },
      deep: false,
    };
    const key = { key: 'k', requestHash: 'h' };
    await member.fixture.command(main, command, undefined, key);
    expect([...(await member.rows(main)).keys()].join()).toContain('idempotency');
    await member.backup({ name: 'keyed', repository: { tenant: 'default', name: 'blog' } });
    await member.restore({ backup: 'keyed', target: { tenant: 'default', name: 'copy' } });
    const rows = await member.rows(`${member.branch(await member.found('copy'))}/branch`);
    expect([...rows.keys()].join()).not.toContain('idempotency');
  });

  it('has every write that was answered before it was asked for, and whole commits only, while others write [BAK-002] [BAK-003]', async () => {
    await member.fork(blog, 'draft');
    const answered: string[] = [];
    let isStopped = false;
    const write = async (writer: number, branch: string): Promise<void> => {
      for (let index = 0; !isStopped; index += 1) {
        const name = `w${writer}n${index}`;
        const operations = ['x', 'y'].map((half) => ({
          type: 'create' as const,
          parentPath: '/',
          node: { name: `${name}${half}`, nodeType: 'svc:Folder', properties: {} },
        }));
        await member.fixture.command(`${member.branch(blog, branch)}/branch`, {
          type: 'CommitOperations',
          workspace: WORKSPACE,
          operations,
          commit: { message: 'both', actor: 'test' },
        } as { type: string });
        answered.push(`${branch}/${name}`);
      }
    };
    const writers = [0, 1, 2, 3].map((writer) => write(writer, writer % 2 === 0 ? 'main' : 'draft'));
    for (let round = 0; round < 3; round += 1) {
      const before = [...answered];
      await member.backup({ name: `round${round}`, repository: { tenant: 'default', name: 'blog' } });
      const restored = await member.restore({
        backup: `round${round}`,
        target: { tenant: 'default', name: `copy${round}` },
      });
      expect(restored.error).toBeUndefined();
      const copy = await member.found(`copy${round}`);
      for (const branch of ['main', 'draft']) {
        const paths = [...(await member.rows(`${member.branch(copy, branch)}/branch`)).keys()]
          .filter((key) => key.startsWith(`paths ${WORKSPACE}${END}/w`))
          .map((key) => `${branch}${key.slice(`paths ${WORKSPACE}${END}`.length)}`);
        const halves = new Map<string, number>();
        for (const path of paths) {
          const name = path.slice(0, -1);
          halves.set(name, (halves.get(name) ?? 0) + 1);
        }
        expect([...halves.values()].every((count) => count === 2)).toBe(true);
        const missing = before.filter((name) => name.startsWith(`${branch}/`) && !halves.has(name));
        expect(missing).toEqual([]);
      }
    }
    isStopped = true;
    await Promise.all(writers);
    expect(answered.length).toBeGreaterThan(0);
  });

  it('names no branch that is not in it, although branches are deleted while it is made [BAK-004]', async () => {
    const deleted: string[] = [];
    await member.close();
    member = await BackupFixture.open({
      copiesOver: (host): ActorCopies => ({
        async copy(actor, folder) {
          // Between the copy of the record that names it and its own.
          if (actor.includes('/doomed~') && actor.endsWith('/branch') && deleted.length === 0) {
            deleted.push(actor);
            await member.branches.removeBranch(blog, 'doomed', { caller: engine });
          }
          return await host.copy(actor, folder);
        },
      }),
    });
    blog = await member.repository('blog');
    await member.fork(blog, 'doomed');
    await member.fork(blog, 'kept');
    const made = await member.backup({ name: 'deleting', repository: { tenant: 'default', name: 'blog' } });
    expect(made.error).toBeUndefined();
    expect(deleted).toHaveLength(1);
    const actors = manifestOf('deleting').actors.map(({ actor }) => actor);
    expect(actors.filter((actor) => actor.includes('/doomed~'))).toEqual([]);
    await member.restore({ backup: 'deleting', target: { tenant: 'default', name: 'copy' } });
    const copy = await member.found('copy');
    expect(member.branch(copy, 'kept')).toContain('kept~');
    expect(() => member.branch(copy, 'doomed')).toThrow('no branch doomed');
    // What was copied the first time is not left behind.
    expect(readdirSync(join(member.folder, 'deleting/shards'))).toHaveLength(actors.length);
  });

  it('is refused where there is one of its name, and for a repository or a place that is none', async () => {
    const repository = { tenant: 'default', name: 'blog' };
    await member.backup({ name: 'taken', repository });
    const start = (name: string | undefined, of = repository): Promise<unknown> =>
      member.backups.start({ name, repository: of });
    await expect(start('taken')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(start('x', { tenant: 'default', name: 'none' })).rejects.toMatchObject({
      code: 'REPOSITORY_NOT_FOUND',
    });
    await expect(start('x', { tenant: 'none', name: 'blog' })).rejects.toMatchObject({
      code: 'REPOSITORY_NOT_FOUND',
    });
    for (const place of ['../out', 'a/b', '/etc/out', '..', '.hidden', '', `${member.folder}/../out`]) {
      await expect(start(place)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    }
    await expect(start(join(member.folder, 'by-path'))).resolves.toMatchObject({ name: 'by-path' });
    await expect(start('second')).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe('a damaged backup', () => {
  const repository = { tenant: 'default', name: 'blog' };
  const restore = (): Promise<unknown> =>
    member.restore({ backup: 'bad', target: { tenant: 'default', name: 'copy' } });

  beforeEach(async () => {
    await member.create(blog, '/a');
    await member.backup({ name: 'bad', repository });
  });

  /** Path of the file of the first branch, as the manifest has it. */
  function branchFile(): string {
    const found = manifestOf('bad').actors.find(({ actor }) => actor.endsWith('/branch'));
    return found?.file as string;
  }

  it('is refused with the file named before anything is made [BAK-009]', async () => {
    const file = branchFile();
    const path = join(member.folder, 'bad', file);
    const bytes = readFileSync(path);
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] as number) ^ 1;
    writeFileSync(path, bytes);
    expect(await restore()).toMatchObject({
      state: 'failed',
      error: { code: 'BACKUP_DAMAGED', message: expect.stringContaining(file) as string },
    });
    truncateSync(path, 4096);
    expect(await restore()).toMatchObject({ error: { message: expect.stringContaining(file) as string } });
    rmSync(path);
    expect(await restore()).toMatchObject({
      error: { message: expect.stringContaining(`${file} (${blog.actor.slice(0, 12)}`) as string },
    });
    await expect(member.found('copy')).rejects.toThrow('no repository');
    const folders = member.fixture.host.namesUnder('default').filter((name) => name.includes('~'));
    expect(folders).toEqual([blog.part]);
  });

  /** Alters a shard and computes every checksum anew, as somebody without the key can. */
  function forge(change: (manifest: Record<string, unknown>) => void): void {
    const file = branchFile();
    const path = join(member.folder, 'bad', file);
    const bytes = readFileSync(path);
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] as number) ^ 1;
    writeFileSync(path, bytes);
    const { sha256: _, ...manifest } = manifestOf('bad') as BackupManifest & { sha256: string };
    const hashed = createHash('sha256').update(bytes).digest('hex');
    const actors = manifest.actors.map((actor) =>
      actor.file === file ? { ...actor, sha256: hashed } : actor,
    );
    const forged: Record<string, unknown> = { ...manifest, actors };
    change(forged);
    const sha256 = createHash('sha256').update(JSON.stringify(forged)).digest('hex');
    writeFileSync(join(member.folder, 'bad/manifest.json'), JSON.stringify({ ...forged, sha256 }));
  }

  it('is refused when a shard was altered and every checksum recomputed [BAK-022]', async () => {
    forge(() => {});
    const start = (acceptForeign: boolean): Promise<unknown> =>
      member.restore({ backup: 'bad', target: { tenant: 'default', name: 'copy' }, acceptForeign });
    for (const accepted of [false, true]) {
      await expect(start(accepted)).rejects.toMatchObject({
        code: 'BACKUP_DAMAGED',
        message: expect.stringContaining('it was altered') as string,
      });
    }
    await expect(member.found('copy')).rejects.toThrow('no repository');
  });

  it('is restored without a signature, or with another one, only when that is accepted [BAK-022]', async () => {
    const path = join(member.folder, 'bad/manifest.json');
    const own = readFileSync(path, 'utf8');
    const { sha256: _, signature: __, ...unsigned } = JSON.parse(own) as Record<string, unknown>;
    const resealed = (fields: object): string =>
      JSON.stringify({
        ...fields,
        sha256: createHash('sha256').update(JSON.stringify(fields)).digest('hex'),
      });
    const signature = new BackupKey(Buffer.alloc(32, 9)).sign(JSON.stringify(unsigned));
    for (const [origin, fields] of [
      ['unsigned', unsigned],
      ['foreign', { ...unsigned, signature }],
    ] as const) {
      writeFileSync(path, resealed(fields));
      expect(await member.backups.find('bad')).toMatchObject({ signedBy: origin });
      const target = { tenant: 'default', name: origin };
      await expect(member.restore({ backup: 'bad', target })).rejects.toMatchObject({
        code: 'BACKUP_FOREIGN',
        message: expect.stringContaining('--accept-foreign') as string,
      });
      expect(await member.restore({ backup: 'bad', target, acceptForeign: true })).toMatchObject({
        state: 'done',
      });
    }
    writeFileSync(path, own);
    expect(await member.backups.find('bad')).toMatchObject({ signedBy: 'own' });
  });

  it.each([
    ['a pipe', (path: string) => void spawnSync('mkfifo', [path])],
    ['a folder', (path: string) => void mkdirSync(path)],
  ])('is refused at once with %s in place of a file', async (_, put) => {
    const file = branchFile();
    rmSync(join(member.folder, 'bad', file));
    put(join(member.folder, 'bad', file));
    expect(await restore()).toMatchObject({
      state: 'failed',
      error: { code: 'BACKUP_DAMAGED', message: expect.stringContaining(file) as string },
    });
    rmSync(join(member.folder, 'bad/manifest.json'));
    put(join(member.folder, 'bad/manifest.json'));
    await expect(
      member.backups.restore({ backup: 'bad', repository: undefined, target: undefined }),
    ).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    expect(await member.backups.list()).toMatchObject([
      { name: 'bad', state: 'failed', error: { code: 'BACKUP_DAMAGED' } },
    ]);
  });

  it('is refused for a manifest that was changed, cut or made by a newer format [BAK-009]', async () => {
    const path = join(member.folder, 'bad/manifest.json');
    const text = readFileSync(path, 'utf8');
    const start = (): Promise<unknown> =>
      member.backups.restore({ backup: 'bad', repository: undefined, target: undefined });
    for (const changed of [
      text.replace('"sequence": ', '"sequence": 1'),
      text.slice(0, -40),
      text.replace('"format": 1', '"format": 2'),
      '[]',
    ]) {
      writeFileSync(path, changed);
      await expect(start()).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    }
    expect(await member.backups.list()).toMatchObject([
      { name: 'bad', state: 'failed', error: { code: 'BACKUP_DAMAGED' } },
    ]);
    rmSync(path);
    await expect(start()).rejects.toMatchObject({ code: 'BACKUP_NOT_FOUND' });
    expect(await member.backups.list()).toEqual([]);
  });
});

describe('a restore', () => {
  const repository = { tenant: 'default', name: 'blog' };

  it('fails where a repository of the name exists, and for a tenant or repository that is none [BAK-010]', async () => {
    await member.backup({ name: 'b', repository });
    const start = (more: object): Promise<unknown> =>
      member.backups.restore({ backup: 'b', repository: undefined, target: undefined, ...more });
    await expect(start({})).rejects.toMatchObject({ code: 'REPOSITORY_ALREADY_EXISTS' });
    await expect(start({ target: { tenant: 'none', name: 'x' } })).rejects.toMatchObject({
      code: 'TENANT_NOT_FOUND',
    });
    await expect(start({ target: { tenant: 'default', name: 'Not a name' } })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    await expect(start({ repository: { tenant: 'default', name: 'other' } })).rejects.toMatchObject({
      code: 'REPOSITORY_NOT_FOUND',
    });
    await expect(start({ backup: 'none' })).rejects.toMatchObject({ code: 'BACKUP_NOT_FOUND' });
    await member.provisioning.removeRepository('default', 'blog', { caller: engine });
    expect(await member.restore({ backup: 'b' })).toMatchObject({ state: 'done' });
    expect((await member.found('blog')).part).not.toBe(blog.part);
  });

  it('is an ordinary part of the log: a follower has the same rows [BAK-011]', async () => {
    await member.close();
    const records: LogRecord[] = [];
    member = await BackupFixture.open({ logOver: (journal) => noting(journal, records) });
    blog = await member.repository('blog');
    await member.create(blog, '/a');
    await acquire(blog, 'a');
    await member.backup({ name: 'b', repository });
    const before = records.length;
    await member.restore({ backup: 'b', target: { tenant: 'default', name: 'copy' } });
    const copy = await member.found('copy');
    const folder = mkdtempSync(join(tmpdir(), 'grove-follower-'));
    const kinds = actorKinds(defaultLimits);
    const follower = new Replica(new ActorStore(folder, kinds, systemClock), systemClock, () => {});
    // Nothing of the time before the restore, as somebody who has never heard of the backup.
    for (const record of records.slice(before)) await follower.take(record);
    await follower.close();
    const owner = member.branch(copy);
    for (const actor of [copy.actor, `${owner}/branch`, `${owner}/locks`]) {
      const path = join(folder, actor, 'data.mdb');
      const rows = await member.rows(actor);
      expect(rows.size).toBeGreaterThan(0);
      expect(rowsOfFile(path, tableNamesOf(kinds, actor))).toEqual(rows);
    }
    rmSync(folder, { recursive: true });
  });

  it('of everything is refused where something is, and by a backup that has less [BAK-012]', async () => {
    await member.backup({ name: 'one', repository });
    await member.backup({ name: 'all' });
    const start = (backup: string): Promise<unknown> =>
      member.backups.restore({ backup, repository: undefined, target: undefined });
    await expect(start('all')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining("repository 'blog'") as string,
    });
    const target = { tenant: 'default', name: 'copy' };
    await expect(
      member.backups.restore({ backup: 'all', repository: undefined, target }),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});

describe('a restore whose last step is not answered', () => {
  const repository = { tenant: 'default', name: 'blog' };

  it('keeps the repository when it is registered, and nothing of it when it was refused [DUR-028]', async () => {
    await member.create(blog, '/a');
    await member.backup({ name: 'b', repository });
    for (const [code, isDone, isLeft] of [
      ['REQUEST_CANCELLED', true, true],
      ['DEADLINE_EXCEEDED', false, true],
      ['STORAGE_FULL', false, false],
    ] as const) {
      const routerOver = (host: Router): Router =>
        losingAnswers(host, () => ({ type: 'RegisterRepository', told: new ServiceError(code), isDone }));
      const other = await BackupFixture.open({ folder: member.folder, routerOver });
      try {
        const target = { tenant: 'default', name: 'copy' };
        expect(await other.restore({ backup: 'b', target })).toMatchObject({
          state: 'failed',
          error: { code },
        });
        const left = other.fixture.host.namesUnder('default').filter((name) => name.startsWith('copy~'));
        expect(left).toHaveLength(isLeft ? 1 : 0);
        if (isDone) expect(await other.create(await other.found('copy'), '/b')).not.toBe('');
      } finally {
        await other.close();
      }
    }
  });

  it('keeps everything when it is known, and nothing of it when it was refused [DUR-028]', async () => {
    await member.create(blog, '/a');
    await member.backup({ name: 'all' });
    for (const [code, isDone, isLeft] of [
      ['WRITES_STOPPED', true, true],
      ['STORAGE_FULL', true, true],
      ['STORAGE_FULL', false, false],
    ] as const) {
      const routerOver = (host: Router): Router => {
        const told = new ServiceError(code);
        const router = losingAnswers(host, () => ({ type: 'ImportRows', told, isDone }));
        // The rows of the tenant that knows of all come last.
        return {
          query: (actor, query, caller) => host.query(actor, query, caller),
          command: (actor, command, delivery) =>
            (actor === 'default/tenant' ? router : host).command(actor, command, delivery),
        };
      };
      const empty = await BackupFixture.open({ folder: member.folder, routerOver });
      try {
        expect(await empty.restore({ backup: 'all' })).toMatchObject({ state: 'failed', error: { code } });
        const left = empty.fixture.host.namesUnder('default').filter((name) => name.startsWith('blog~'));
        expect(left).toHaveLength(isLeft ? 1 : 0);
        if (isDone) expect(await empty.create(await empty.found('blog'), '/b')).not.toBe('');
      } finally {
        await empty.close();
      }
    }
  });
});

describe('a backup of everything', () => {
  it('fills an empty member with every tenant, account and repository [BAK-012] [BAK-013]', async () => {
    await member.provisioning.createTenant(
      {
        tenantId: 'acme',
        metadata: { plan: 'gold' },
        admin: { username: 'ada', email: null, passwordHash: 'hash of ada', mustChangePassword: false },
      },
      { caller: engine },
    );
    const shop = await member.repository('shop', 'acme');
    await member.create(shop, '/a', 'of acme');
    await member.create(blog, '/a', 'of default');
    const made = await member.backup({ name: 'all' });
    expect(made).toMatchObject({ state: 'done', repository: undefined });
    const [tenant, accounts] = [await member.rows('acme/tenant'), await member.rows('default/tenant')];
    const content = await member.rowsAsRestored(`${member.branch(shop)}/branch`);

    const empty = await BackupFixture.open({ folder: member.folder });
    try {
      expect(await empty.restore({ backup: 'all' })).toMatchObject({ state: 'done', error: undefined });
      const found = await empty.found('shop', 'acme');
      expect(await empty.rows(`${empty.branch(found)}/branch`)).toEqual(content);
      const lists = ['repositories', 'tokens'];
      expect(without(await empty.rows('acme/tenant'), ...lists)).toEqual(without(tenant, ...lists));
      expect(without(await empty.rows('default/tenant'), ...lists)).toEqual(without(accounts, ...lists));
      expect(await empty.create(await empty.found('blog'), '/b')).not.toBe('');
      await empty.repository('new', 'acme');
    } finally {
      await empty.close();
    }
  });

  it('gives a repository of it back alone', async () => {
    const other = await member.repository('other');
    await member.create(other, '/x');
    await member.backup({ name: 'all' });
    await member.provisioning.removeRepository('default', 'other', { caller: engine });
    await member.restore({ backup: 'all', repository: { tenant: 'default', name: 'other' } });
    expect((await member.found('other')).part).not.toBe(other.part);
  });

  it('hands out no fence token again of a name that was removed and restored [BAK-007]', async () => {
    await acquire(blog, 'a');
    await member.backup({ name: 'all' });
    let newest = 0;
    for (let times = 0; times < 3; times += 1) {
      await member.provisioning.removeRepository('default', 'blog', { caller: engine });
      await member.restore({ backup: 'all', repository: { tenant: 'default', name: 'blog' } });
      const { token } = await acquire(await member.found('blog'), 'a');
      expect(token).toBeGreaterThan(newest);
      newest = token;
    }
    // A restore may be far ahead of the clock, and so is what is made after it.
    await member.provisioning.removeRepository('default', 'blog', { caller: engine });
    const made = await member.repository('blog');
    newest = (await acquire(made, 'a')).token;
    expect(newest).toBeGreaterThan(RESTORE_MARGIN);

    // Into a server that is empty again: what it removed counts, whatever the backup knows.
    await member.provisioning.removeRepository('default', 'blog', { caller: engine });
    await member.restore({ backup: 'all' });
    const restored = await acquire(await member.found('blog'), 'a');
    expect(restored.token).toBeGreaterThan(newest);
    // A repository made after the backup was lost with its name.
    expect((await acquire(await member.repository('lost-since'), 'a')).token).toBeGreaterThan(newest);
  });

  it('that fails or is cancelled leaves nothing that looks complete, and the next one removes it [BAK-014]', async () => {
    await member.close();
    let isFailing = true;
    member = await BackupFixture.open({
      copiesOver: (host): ActorCopies => ({
        async copy(actor, folder) {
          if (isFailing && actor.endsWith('/branch')) throw new Error('the disk is gone');
          return await host.copy(actor, folder);
        },
      }),
    });
    await member.repository('blog');
    expect(await member.backup({ name: 'b' })).toMatchObject({
      state: 'failed',
      error: { code: 'INTERNAL_SERVER_ERROR' },
    });
    expect(readdirSync(member.folder)).toEqual([]);
    // What a process that died would have left.
    mkdirSync(join(member.folder, '.b.partial/shards/000001'), { recursive: true });
    expect(await member.backups.list()).toMatchObject([{ name: 'b', state: 'failed' }]);
    isFailing = false;
    expect(await member.backup({ name: 'b' })).toMatchObject({ state: 'done' });
    expect(readdirSync(member.folder)).toEqual(['b']);
    expect(existsSync(join(member.folder, 'b/manifest.json'))).toBe(true);
  });
});

/** A log that notes what it is given. */
function noting(journal: Log, records: LogRecord[]): Log {
  const append = async (entry: LogEntry): Promise<number> => {
    const bytes = Buffer.alloc(entrySize(entry));
    encodeEntry(entry, bytes, 0);
    const sequence = await journal.append(entry);
    records.push({ sequence, entries: [decodeEntry(bytes, 0).entry] });
    return sequence;
  };
  return new Proxy(journal, {
    get: (target, name) => {
      if (name === 'append') return append;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function parse(revision: string): { ms: number; counter: number } {
  const [ms, counter] = revision.split('-').map(Number) as [number, number];
  return { ms, counter };
}

function compare(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  return left.ms - right.ms || left.counter - right.counter;
}

import { createServer } from 'node:http';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimName } from '#server/host/claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { branchFile, copyOf, discard, makeDirectory } from '#test/support/damaged-directory.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { type ProgramOutcome, runProgram } from '#test/support/run-program.ts';
import { ADMIN_PASSWORD, startServer } from '#test/support/server.ts';
import { startServerProcess } from '#test/support/server-process.ts';
import { SmallVolume } from '#test/support/small-volume.ts';

const CHECK = 'server/check/check-data.ts';
const SALVAGE = 'server/salvage/salvage.ts';
const REBUILD = 'server/salvage/rebuild-catalogue.ts';
const STATUS = 'operator/status.ts';
const EXPORT = 'server/export-log.ts';
const BACKUP = 'operator/backup.ts';
const RESTORE = 'server/backup/restore.ts';

const password = { GROVE_PASSWORD: ADMIN_PASSWORD };

let whole: string;
let damaged: string;
let scratch: string;

beforeAll(async () => {
  whole = await makeDirectory();
  damaged = copyOf(whole);
  const path = branchFile(damaged, 'magazine');
  const bytes = readFileSync(path);
  // Pages of nodes: a server opens the shard nevertheless.
  for (let at = bytes.indexOf('Gardens in'); at >= 0; at = bytes.indexOf('Gardens in', at)) {
    const page = at - (at % 4096);
    bytes.fill(0xff, page, page + 4096);
  }
  writeFileSync(path, bytes);
  scratch = mkdtempSync(join(tmpdir(), 'grove-programs-'));
});

afterAll(() => discard(whole, damaged, scratch));

describe('programs for operators', () => {
  it('print their usage, and refuse unknown options [CHK-006, SAL-007, BAK-023]', async () => {
    const files = [CHECK, SALVAGE, BACKUP, RESTORE];
    const helped = await Promise.all(files.map((file) => runProgram(file, ['--help'])));
    for (const { code, stderr, stdout } of helped) {
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^npm run /);
      expect(stdout).toContain('Exit code 0: ');
      expect(stdout).toContain('2: wrong options');
    }
    const refused = await Promise.all(
      files.flatMap((file) => [runProgram(file, ['--colour']), runProgram(file, ['x'])]),
    );
    for (const { code, stderr, stdout } of refused) {
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Exit code 0: ');
      expect(stderr).not.toContain('    at ');
    }
  });

  it('check-data ends with 0, 1 or 2, and prints what it found as text or JSON [CHK-006]', async () => {
    const [sound, found, json, none, both] = await Promise.all([
      runProgram(CHECK, ['--data-dir', whole]),
      runProgram(CHECK, ['--data-dir', damaged]),
      runProgram(CHECK, ['--json', '--no-lock'], { SVC_DATA_DIR: damaged }),
      runProgram(CHECK, ['--data-dir', join(scratch, 'none')]),
      runProgram(CHECK, ['--online', '--data-dir', whole]),
    ]);
    expect([sound.code, sound.stderr]).toEqual([0, '']);
    expect(sound.stdout).toContain('Everything verifies: ');
    expect([found.code, found.stderr]).toEqual([1, '']);
    expect(found.stdout).toContain(`${branchFile(damaged, 'magazine')} (default/magazine~`);
    expect(found.stdout).toMatch(/\d+ findings of damage/);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ data_dir: damaged });
    expect([none.code, none.stdout]).toEqual([2, '']);
    expect(none.stderr).toContain('There is no directory');
    expect([both.code, both.stdout]).toEqual([2, '']);
  });

  it('check-data uses the server that has the directory, and prints the same [CHK-007]', async () => {
    const folder = copyOf(damaged);
    const server = await startServer({ dataDir: folder });
    try {
      const alone = await runProgram(CHECK, ['--no-lock', '--data-dir', folder]);
      // One after the other: a server makes one check at a time.
      const found = await runProgram(CHECK, ['--data-dir', folder], password);
      const asked = await runProgram(CHECK, ['--url', server.url], password);
      const json = await runProgram(CHECK, ['--online', '--json'], { ...password, GROVE_URL: server.url });
      expect(found.stderr).toContain(`checking through the server at ${server.url}`);
      const lineOf = ({ stdout }: ProgramOutcome): string | undefined =>
        stdout.split('\n').find((line) => line.startsWith(branchFile(folder, 'magazine')));
      expect(lineOf(found)).toBeDefined();
      expect(lineOf(found)).toBe(lineOf(alone));
      expect(lineOf(asked)).toBe(lineOf(found));
      expect([found.code, asked.code, json.code]).toEqual([1, 1, 1]);
      expect((JSON.parse(json.stdout) as { damage_total: number }).damage_total).toBeGreaterThan(0);
      const wrong = await runProgram(CHECK, ['--url', server.url], {
        GROVE_PASSWORD: 'Wrong-Horse-9-Battery',
      });
      expect([wrong.code, wrong.stdout]).toEqual([2, '']);
      const nobody = await runProgram(CHECK, ['--url', `http://127.0.0.1:${await freePorts([0])}`], password);
      expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining('does not answer')]);
    } finally {
      await server.close();
      discard(folder);
    }
  });

  it('check-data sends no password to an address that others may have written [CHK-007]', async () => {
    const folder = copyOf(whole);
    const lock = await acquireDataDirectory(folder, claimName);
    let requests = 0;
    const stranger = createServer((_, response) => {
      requests += 1;
      response.end();
    });
    await new Promise<void>((resolve) => void stranger.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    try {
      lock.announce(url);
      chmodSync(join(folder, 'lock'), 0o666);
      const refused = await runProgram(CHECK, ['--data-dir', folder], password);
      expect([refused.code, refused.stdout, requests]).toEqual([2, '', 0]);
      expect(refused.stderr).toContain(url);
      expect(refused.stderr).toContain('--online --url');
      chmodSync(join(folder, 'lock'), 0o600);
      await runProgram(CHECK, ['--data-dir', folder], password);
      expect(requests).toBeGreaterThan(0);
    } finally {
      stranger.close();
      stranger.closeAllConnections();
      lock.release();
      discard(folder);
    }
  });

  it('check-data and salvage read a volume that is read-only, and salvage leaves it alone [CHK-008, SAL-007]', async () => {
    const volume = new SmallVolume(64 * 1024 * 1024);
    try {
      const data = join(volume.path, 'data');
      cpSync(damaged, data, { recursive: true });
      expect(existsSync(join(data, 'lock'))).toBe(true);
      remount(volume, 'ro');
      const checked = await runProgram(CHECK, ['--data-dir', data]);
      expect([checked.code, checked.stderr]).toEqual([1, '']);
      const into = join(scratch, 'of-read-only');
      const salvaged = await runProgram(SALVAGE, ['--from', data, '--into', into]);
      expect([salvaged.code, salvaged.stderr]).toEqual([3, '']);
      expect(await runProgram(CHECK, ['--data-dir', into])).toMatchObject({ code: 0 });
      remount(volume, 'rw');
      rmSync(join(data, 'lock'));
      remount(volume, 'ro');
      const unlocked = await runProgram(CHECK, ['--data-dir', data]);
      expect([unlocked.code, unlocked.stderr]).toEqual([1, expect.stringContaining('read without a lock')]);
      expect(unlocked.stdout).toBe(checked.stdout);
    } finally {
      volume.close();
    }
  });

  it('salvage ends with 0, 1, 2 or 3 [SAL-007]', async () => {
    const used = join(scratch, 'used');
    cpSync(whole, used, { recursive: true });
    const [done, lost, taken, unnamed] = await Promise.all([
      runProgram(SALVAGE, ['--from', whole, '--into', join(scratch, 'a')]),
      runProgram(SALVAGE, ['--from', damaged, '--into', join(scratch, 'b'), '--json']),
      runProgram(SALVAGE, ['--from', damaged, '--into', used]),
      runProgram(SALVAGE, ['--from', damaged]),
    ]);
    expect([done.code, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toContain('everything was copied');
    expect(lost.code).toBe(3);
    expect((JSON.parse(lost.stdout) as { missing: unknown[] }).missing.length).toBeGreaterThan(0);
    expect([taken.code, taken.stdout]).toEqual([1, '']);
    expect(taken.stderr).toContain('is not empty');
    expect([unnamed.code, unnamed.stdout]).toEqual([2, '']);
  });

  it('refuse folders in one another, that cannot be made, or named twice or not at all [SAL-008]', async () => {
    const folder = join(scratch, 'folders');
    mkdirSync(folder);
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const link = join(folder, 'link');
    symlinkSync(damaged, link);
    const plain = join(folder, 'plain');
    mkdirSync(plain);
    const before = readdirSync(damaged).sort();
    const to = (into: string): readonly string[] => ['--from', damaged, '--into', into];
    const export_ = ['--partition', '0', '--nats', 'nats://127.0.0.1:1', '--data-dir', damaged];
    const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
      [SALVAGE, to(join(damaged, 'inside')), /is inside of --from/],
      [SALVAGE, to(join(link, 'deep/inside')), /is inside of --from/],
      [SALVAGE, to(link), /is the folder of --from/],
      [SALVAGE, to('/proc/x'), /\/proc\/x \(--into\) cannot be made \(ENOENT\)/],
      [SALVAGE, to(file), /is no directory/],
      [SALVAGE, to(join(file, 'x')), /is no directory/],
      [SALVAGE, to(''), /--into is empty/],
      [SALVAGE, [...to(plain), '--from', whole], /--from is given twice/],
      [SALVAGE, [...to(plain), '--into', plain], /--into is given twice/],
      [SALVAGE, ['--from', join(folder, 'none'), '--into', plain], /There is no directory/],
      [RESTORE, to(join(damaged, 'inside')), /is inside of --from/],
      [RESTORE, to('/proc/x'), /cannot be made/],
      [RESTORE, [...to(plain), '--url', 'http://127.0.0.1:1'], /leave out --url/],
      [RESTORE, [...to(plain), '--token', 'x'], /leave out --token/],
      [RESTORE, ['--from', 'a', '--url', 'ftp://x', '--token', 'x'], /is no address of a server/],
      [CHECK, ['--data-dir', whole, '--data-dir', plain], /--data-dir is given twice/],
      [CHECK, ['--data-dir', ''], /--data-dir is empty/],
      [CHECK, ['--data-dir', file], /is no directory/],
      [CHECK, ['--url', 'ftp://x', '--token', 'x'], /is no address of a server/],
      [REBUILD, ['--data-dir', join(folder, 'none')], /There is no directory/],
      [STATUS, ['--url', 'http://127.0.0.1:1', '--url', 'http://127.0.0.1:2'], /--url is given twice/],
      [EXPORT, [...export_, '--to', join(damaged, 'to')], /is inside of --data-dir/],
      [EXPORT, [...export_, '--to', plain, '--to', file], /--to is given twice/],
    ];
    const outcomes = await Promise.all(cases.map(([program, args]) => runProgram(program, args)));
    for (const [at, { code, stderr, stdout }] of outcomes.entries()) {
      const [program, args, says] = cases[at] as (typeof cases)[number];
      expect({ program, args, code, stdout }).toEqual({ program, args, code: 2, stdout: '' });
      expect(stderr).toMatch(says);
      expect(stderr).not.toMatch(/^ +at /m);
    }
    const strange = await runProgram(CHECK, ['--data-dir', plain]);
    expect([strange.code, strange.stderr]).toEqual([1, expect.stringContaining('is not a data directory')]);
    expect([readdirSync(plain), readdirSync(damaged).sort()]).toEqual([[], before]);
  });

  it('salvage shows a new account where none was left, and it is taken [SAL-006]', async () => {
    const from = copyOf(whole);
    rmSync(join(from, 'actors/default/tenant'), { recursive: true });
    rmSync(join(from, 'journal'), { recursive: true });
    const into = join(scratch, 'new-account');
    const { code, stdout } = await runProgram(SALVAGE, ['--from', from, '--into', into]);
    discard(from);
    expect(code).toBe(3);
    const shown = /password +(\S+)/.exec(stdout)?.[1] as string;
    const server = await startServerProcess({ dataDir: into });
    try {
      const body = { username: 'admin', password: shown };
      expect((await server.request('POST', '/api/svc/sys/default/auth', { body })).status).toBe(200);
    } finally {
      await server.close();
    }
  });

  it('backup and restore end with 0, 1 or 2 [BAK-023]', async () => {
    const server = await startServer();
    try {
      await server.createRepository('shop');
      const env = { ...password, GROVE_URL: server.url };
      const made = await runProgram(BACKUP, ['--to', 'one'], env);
      expect([made.code, made.stderr]).toEqual([0, '']);
      const folder = join(server.dataDir, 'backups/one');
      const [again, wrong, unnamed, taken, misused, foreign] = await Promise.all([
        runProgram(BACKUP, ['--to', 'one'], env),
        runProgram(BACKUP, ['--list'], { ...env, GROVE_PASSWORD: 'Wrong-Horse-9-Battery' }),
        runProgram(RESTORE, [], env),
        runProgram(RESTORE, ['--from', 'one', '--repository', 'default/shop'], env),
        runProgram(RESTORE, ['--from', folder, '--into', join(scratch, 'm'), '--as', 'default/x'], env),
        runProgram(RESTORE, ['--from', folder, '--into', join(scratch, 'f')], {}),
      ]);
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('one')]);
      expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('exists')]);
      expect(foreign.code).toBe(1);
      expect([wrong.code, unnamed.code, misused.code]).toEqual([2, 2, 2]);
      const restored = await runProgram(RESTORE, [
        '--from',
        folder,
        '--into',
        join(scratch, 'r'),
        '--accept-foreign',
      ]);
      expect([restored.code, restored.stderr]).toEqual([0, '']);
      expect((await runProgram(CHECK, ['--data-dir', join(scratch, 'r')])).code).toBe(0);
    } finally {
      await server.close();
    }
  });
});

function remount(volume: SmallVolume, how: 'ro' | 'rw'): void {
  expect(spawnSync('mount', ['-o', `remount,${how}`, volume.path]).status).toBe(0);
}

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { tableNamesOf } from '#server/backup/take-backup.ts';
import { checkDirectory } from '#server/check/check-directory.ts';
import type { CheckReport } from '#server/check/check-report.ts';
import { salvageDirectory } from '#server/salvage/salvage-directory.ts';
import type { SalvageReport } from '#server/salvage/salvage-report.ts';
import { firstAdmin } from '#server/registry/first-admin.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { Secret } from '#runtime/config/secret.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { FileBlobs } from '#runtime/embedded/file-blobs.ts';
import { PageFile } from '#runtime/shard/page-file.ts';
import { readRecording, recordingNames, unpackFolder } from '#test/history/recording.ts';
import { ContentClient } from './content-client.ts';
import { ADMIN_PASSWORD, startServer } from './server.ts';

/** A data directory with repositories, history, a fork, locks and jobs, whose last writes are in the journal alone. */
export async function makeDirectory(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'grove-check-'));
  unpackFolder(readRecording(recordingNames().at(-1) as string).files, folder);
  const server = await startServer({ dataDir: folder });
  try {
    const forked = await server.admin('POST', '/api/management/repositories/default/magazine/branches', {
      name: 'draft',
      upstream_branch: 'main',
    });
    if (forked.status >= 300) throw new Error(JSON.stringify(forked.json));
    await server.createRepository('shop');
    const space = await new ContentClient(server, 'shop').workspace();
    await space.addAll('/a', '/a/b', '/a/b/c', '/d');
    for (let index = 0; index < 120; index += 1) await space.addAll(`/a/n${index}`);
    const lock = { key: 'k', ttl_ms: 60_000 };
    const locked = await server.admin('POST', '/api/shop/main/locks/acquire', lock);
    if (locked.status >= 300) throw new Error(JSON.stringify(locked.json));
  } finally {
    await server.close();
  }
  return folder;
}

/** Stores a file that is named by its hash, larger than what is read at a time. @returns its path */
export async function storeBlob(folder: string, text: string): Promise<string> {
  const blobs = await FileBlobs.open({
    folder: join(folder, 'blobs'),
    files: realFileSystem,
    clock: systemClock,
    random: systemRandom,
  });
  const { hash } = await blobs.put([Buffer.alloc(600_000, text)], { bytesMax: 2 ** 20 });
  return blobs.pathOf(hash);
}

/**
 * Stores three files that are named by their hash, and damages two.
 *
 * @returns paths: one that is whole, one with a flipped bit, one that is cut
 */
export async function storeBlobs(folder: string): Promise<readonly [string, string, string]> {
  const paths: string[] = [];
  for (const text of ['whole', 'flipped', 'cut']) paths.push(await storeBlob(folder, text));
  const [whole, flipped, cut] = paths as [string, string, string];
  change(flipped, (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([0])]));
  change(cut, (bytes) => bytes.subarray(0, 1_000));
  return [whole, flipped, cut];
}

/** A copy beside it. */
export function copyOf(folder: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'grove-check-'));
  cpSync(folder, copy, { recursive: true });
  return copy;
}

/** Paths of files below a folder whose name ends so, sorted. */
export function filesIn(folder: string, suffix: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => path.endsWith(suffix) && statSync(path).isFile())
    .sort();
}

/** Changes the bytes of a file. */
export function change(path: string, how: (bytes: Buffer) => Buffer): void {
  writeFileSync(path, how(readFileSync(path)));
}

/** Checks a directory. */
export function check(dataDir: string): Promise<CheckReport> {
  return checkDirectory({
    dataDir,
    clock: systemClock,
    signal: new AbortController().signal,
    onProgress: () => {},
  });
}

/** Removes directories of a test. */
export function discard(...folders: readonly string[]): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

const kinds = actorKinds(defaultLimits);

/** Salvages a directory into a new one. Remove the folder above it. */
export async function salvage(
  from: string,
): Promise<{ readonly into: string; readonly report: SalvageReport }> {
  const into = join(mkdtempSync(join(tmpdir(), 'grove-salvaged-')), 'data');
  const report = await salvageDirectory({
    dataDir: from,
    into,
    clock: systemClock,
    random: systemRandom,
    signal: new AbortController().signal,
    onProgress: () => {},
    newAdmin: (tenant) =>
      firstAdmin(new Secret(ADMIN_PASSWORD), new PasswordHasher(), systemRandom, () => {}, tenant),
  });
  return { into, report };
}

/** Rows of an actor's tables that are content, as texts. */
export function contentOf(dataDir: string, actor: string): ReadonlySet<string> {
  const tables = tableNamesOf(kinds, actor);
  const file = new PageFile(join(dataDir, 'actors', actor, 'data.mdb'), tables, () => {});
  const rows = new Set<string>();
  for (const [table, name] of tables.entries()) {
    if (name.startsWith('idempotency') || name === 'meta') continue;
    for (const { key, value } of file.rows(table))
      rows.add(`${name} ${key} ${Buffer.from(value).toString('latin1')}`);
  }
  file.close();
  return rows;
}

/** The file of branch main of a repository. */
export function branchFile(folder: string, repository: string): string {
  const found = filesIn(folder, '/branch/data.mdb').find(
    (path) => path.includes(`/${repository}~`) && path.includes('/main~'),
  );
  return found as string;
}

/** The actor a file belongs to. */
export function actorOf(folder: string, path: string): string {
  return relative(join(folder, 'actors'), path).replace(/\/data\.mdb$/, '');
}

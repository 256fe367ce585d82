import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkDirectory } from '#cluster/member/check/check-directory.ts';
import type { CheckReport } from '#cluster/member/check/check-report.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { readRecording, recordingNames, unpackFolder } from '#test/history/recording.ts';
import { ContentClient } from './content-client.ts';
import { startServer } from './server.ts';

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

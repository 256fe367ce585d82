import { copyFileSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import { storedKeys } from '#runtime/config/secrets.ts';
import { FileBlobs } from '#runtime/embedded/file-blobs.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { MissingList } from './salvage-report.ts';

/** Dependencies of a salvage of files. */
export interface FileSalvage {
  readonly dataDir: string;
  readonly into: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Check value of the directory's master key; undefined when it is unknown. */
  readonly keyCheck: string | undefined;
  /** Check value of the key before it, with which something is encrypted; undefined when nothing is. */
  readonly previousKeyCheck: string | undefined;
  /** As {@link CheckEnvironment.givenKeys}. */
  readonly givenKeys?: ReadonlySet<string>;
}

/** Copies the files of a directory that belong to no actor: keys, notes of unsettled owners, blobs. */
export async function salvageFiles(salvage: FileSalvage, missing: MissingList): Promise<void> {
  salvageKeys(salvage, missing);
  const { dataDir, into } = salvage;
  const notes = join(dataDir, 'unsettled');
  // Each note is named by its content, so a damaged one is ignored.
  if (existsSync(notes)) cpSync(notes, join(into, 'unsettled'), { recursive: true });
  await salvageBlobs(salvage, missing);
}

/** Keys that exist in the new directory already are kept. */
function salvageKeys(salvage: FileSalvage, missing: MissingList): void {
  const { dataDir, givenKeys, into } = salvage;
  for (const { name, path, problem } of storedKeys(dataDir, salvage)) {
    const target = join(into, 'secrets', name);
    if (existsSync(target) || (!existsSync(path) && givenKeys?.has(name) === true)) continue;
    if (problem !== undefined) {
      missing.add({ file: path, what: problem });
      continue;
    }
    mkdirSync(join(into, 'secrets'), { recursive: true, mode: 0o700 });
    copyFileSync(path, target);
  }
}

async function salvageBlobs(
  { clock, dataDir, into, random, signal }: FileSalvage,
  missing: MissingList,
): Promise<void> {
  const folder = join(dataDir, 'blobs');
  if (!existsSync(folder)) return;
  const files = realFileSystem;
  const source = FileBlobs.reading({ folder, files, clock, random });
  const target = await FileBlobs.open({ folder: join(into, 'blobs'), files, clock, random });
  for await (const { hash, size } of source.list()) {
    try {
      await target.put(await source.get(hash), { bytesMax: size, hash, signal });
    } catch (error) {
      const isOwn =
        error instanceof ServiceError && ['STORAGE_FULL', 'REQUEST_CANCELLED'].includes(error.code);
      if (isOwn) throw error;
      missing.add({ file: source.pathOf(hash), what: (error as Error).message });
    }
  }
}

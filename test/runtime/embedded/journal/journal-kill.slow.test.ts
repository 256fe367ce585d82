import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { entriesOf, numberedEntry, numberOf, plain } from '#test/support/log-entries.ts';
import { openJournal } from './journal-harness.ts';

const writer = fileURLToPath(new URL('../../../support/journal-writer.ts', import.meta.url));

describe('Journal under kill -9', () => {
  let folder: string;
  let child: ChildProcess | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-journal-kill-'));
  });

  afterEach(async () => {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true });
  });

  /** Lets a process write until it has acknowledged so many entries, kills it, and returns all it acknowledged. */
  async function writeUntilKilled(firstNumber: number, acknowledgements: number): Promise<string[]> {
    const process_ = spawn(process.execPath, [writer, folder, String(firstNumber)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child = process_;
    let output = '';
    let lines = 0;
    process_.stdout.setEncoding('latin1').on('data', (text: string) => {
      output += text;
      lines += text.split('\n').length - 1;
      if (lines >= acknowledgements) process_.kill('SIGKILL');
    });
    const [code, signal] = await once(process_, 'close');
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' });
    return output.split('\n').slice(0, -1);
  }

  it('holds every acknowledged entry after each of several kills under load', async () => {
    const acknowledged = new Set<string>();
    let nextNumber = 0;
    for (const acknowledgements of [1, 500, 3000, 2000]) {
      for (const line of await writeUntilKilled(nextNumber, acknowledgements)) acknowledged.add(line);
      const { journal } = await openJournal(realFileSystem, { folder, segmentBytes: 1024 * 1024 });
      const lastOf = new Map<string, number>();
      const found = new Set<string>();
      for (const entry of await entriesOf(journal)) {
        const number = numberOf(entry);
        expect(plain(entry)).toEqual(plain(numberedEntry(entry.actor, number, 100 + (number % 50) * 40)));
        expect(number).toBeGreaterThan(lastOf.get(entry.actor) ?? -1);
        lastOf.set(entry.actor, number);
        found.add(`${entry.actor} ${number}`);
      }
      expect([...acknowledged].filter((line) => !found.has(line))).toEqual([]);
      nextNumber = Math.max(...lastOf.values()) + 1;
      await journal.close();
    }
    expect(acknowledged.size).toBeGreaterThan(5000);
  });
});

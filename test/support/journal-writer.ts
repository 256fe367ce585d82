import { writeSync } from 'node:fs';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import { numberedEntry } from './log-entries.ts';

/*
 * A process that appends to a journal until it is killed: `journal-writer.ts <folder> <first number>`.
 * Every acknowledged entry is a line `<actor> <number>` on standard output, written before anything else runs.
 */
const [folder = '', firstNumber = '0'] = process.argv.slice(2);

const journal = await Journal.open({
  folder,
  durability: 'local',
  files: realFileSystem,
  clock: systemClock,
  random: systemRandom,
  report: () => {},
  segmentBytes: 1024 * 1024,
});

async function appendForever(actor: string): Promise<never> {
  for (let number = Number(firstNumber); ; number += 1) {
    await journal.append(numberedEntry(actor, number, 100 + (number % 50) * 40));
    writeSync(1, `${actor} ${number}\n`);
  }
}

await Promise.all(Array.from({ length: 16 }, (_, index) => appendForever(`actor${index}`)));

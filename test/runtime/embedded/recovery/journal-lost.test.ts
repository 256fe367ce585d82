import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FileFacts, realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import type { JournalDurability, JournalOptions } from '#runtime/embedded/journal/journal-options.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import { FOLDER, notableKinds, openJournal } from '../journal/journal-harness.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function open(options: Partial<JournalOptions> = {}) {
  const clock = new TestClock();
  const files = new FaultyFileSystem();
  return { ...(await openJournal(files, { clock, ...options })), clock, files };
}

/** Lets time pass, until the journal takes entries again or for a minute. */
async function letHeal(journal: Journal, clock: TestClock): Promise<void> {
  for (let round = 0; round < 600 && journal.trouble !== undefined; round += 1) {
    clock.advance(100);
    for (let turns = 0; turns < 20; turns += 1) await turn();
  }
}

async function numbersIn(files: FaultyFileSystem): Promise<readonly number[]> {
  const { journal } = await openJournal(files.crash('drop-unsynced'));
  return (await entriesOf(journal)).map(numberOf);
}

/** Its looks at names take as long as the test says. */
class SlowLooks extends FaultyFileSystem {
  looking = Promise.resolve();

  override async stat(path: string): Promise<FileFacts> {
    await this.looking;
    return super.stat(path);
  }
}

const newest = (files: FaultyFileSystem): string => files.paths().at(-1) as string;

const moved = `${FOLDER}/somewhere-else`;

const takenAway: readonly [string, (files: FaultyFileSystem) => void][] = [
  ['removed', (files) => files.remove(newest(files))],
  ['renamed', (files) => files.move(newest(files), moved)],
  [
    'replaced',
    (files) => {
      const content = files.content(newest(files));
      files.put(newest(files), content);
    },
  ],
];

const cut: readonly [string, (files: FaultyFileSystem) => void][] = [
  ['emptied', (files) => files.cut(newest(files), 0)],
  ['cut', (files) => files.cut(newest(files), 200)],
];

const classes: readonly JournalDurability[] = ['local', 'relaxed'];

describe.each(classes)('a journal in class %s whose newest file', (durability) => {
  it.each(takenAway)('was %s stops, writes it again and resumes [DUR-011]', async (_, take) => {
    const { clock, events, files, journal } = await open({ durability });
    await journal.append(numberedEntry('a', 1));
    await journal.append(numberedEntry('b', 2));
    take(files);
    await journal.inspect();
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
    expect(String(journal.trouble?.cause)).toMatch(/journal was (removed|replaced) under the running server/);
    await expect(journal.append(numberedEntry('a', 3))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    await letHeal(journal, clock);
    // Nobody has released anything: it is all needed still.
    expect(await journal.append(numberedEntry('a', 4))).toBe(3);
    await journal.flush();
    expect(await numbersIn(files)).toEqual([1, 2, 4]);
    expect(notableKinds(events)).toEqual(['writes-stopped', 'writes-resumed']);
  });

  it.each(cut)('was %s stops until the shards have everything, then begins another', async (_, shorten) => {
    const { clock, files, journal } = await open({ durability });
    await journal.append(numberedEntry('a', 1));
    await journal.append(numberedEntry('b', 2));
    shorten(files);
    await journal.inspect();
    journal.released('a', 2);
    await letHeal(journal, clock);
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
    expect(journal.heals).toBe(true);
    // What a shard does before it takes over: in class relaxed, too, nothing holds it up.
    expect(await journal.flush()).toBe(2);
    journal.released('b', 2);
    await letHeal(journal, clock);
    expect(await journal.append(numberedEntry('a', 3))).toBe(3);
    await journal.flush();
    expect(await numbersIn(files)).toEqual([3]);
    await journal.inspect();
    expect(journal.trouble).toBeUndefined();
  });

  it.each([...takenAway.slice(0, 1), ...cut])('was %s takes no record behind it', async (_, harm) => {
    const { files, journal } = await open({ durability });
    await journal.append(numberedEntry('a', 1));
    harm(files);
    await expect(journal.append(numberedEntry('a', 2))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
  });

  it.each([...takenAway, ...cut])('was %s is whole again when it is closed at once', async (_, harm) => {
    const { files, journal } = await open({ durability });
    await journal.append(numberedEntry('a', 1));
    harm(files);
    journal.released('a', 1);
    await journal.close();
    const { journal: again } = await openJournal(files.crash('drop-unsynced'));
    expect(again.lastSequence).toBe(1);
  });
});

describe.each(classes)(
  'a journal in class %s whose newest file is cut while a record is written',
  (durability) => {
    /** A journal whose newest file is cut at the beginning of the nth operation on files from when it is armed. */
    async function openCutting(options: Partial<JournalOptions> = {}) {
      let countdown = Number.POSITIVE_INFINITY;
      const files: FaultyFileSystem = new FaultyFileSystem(async () => {
        await turn();
        countdown -= 1;
        if (countdown === 0) files.cut(newest(files), 200);
      });
      const clock = new TestClock();
      const opened = await openJournal(files, { clock, durability, ...options });
      const arm = (operations: number): void => {
        countdown = operations;
      };
      return { ...opened, arm, clock, files, hasCut: () => countdown <= 0 };
    }

    const journals: readonly [string, number | undefined][] = [
      ['with space taken ahead', undefined],
      ['that is final after each record', 1],
      ['that is final after two records', 4_096],
    ];

    it.each(journals)(
      '%s acknowledges nothing over the hole, and continues behind it',
      async (_, segmentBytes) => {
        for (let operations = 1; ; operations += 1) {
          const opened = await openCutting(segmentBytes === undefined ? {} : { segmentBytes });
          const { arm, clock, files, hasCut, journal } = opened;
          await journal.append(numberedEntry('a', 1, 1_500));
          arm(operations);
          let acknowledged = 1;
          for (let number = 2; number <= 4 && journal.trouble === undefined; number += 1)
            await journal.append(numberedEntry('a', number, 1_500)).then(
              () => (acknowledged = number),
              () => undefined,
            );
          await journal.inspect();
          if (!hasCut()) {
            expect(operations).toBeGreaterThan(3);
            return;
          }
          if (journal.trouble === undefined) {
            // Then nothing is missing: it was cut before it had anything, or behind what it has.
            await journal.flush();
            expect(await numbersIn(files)).toEqual([1, 2, 3, 4].slice(0, acknowledged));
            continue;
          }
          expect(String(journal.trouble.cause), `cut at ${operations}`).toMatch(/ was cut /);
          expect(journal.heals).toBe(true);
          journal.released('a', journal.lastSequence);
          await letHeal(journal, clock);
          const sequence = await journal.append(numberedEntry('a', 9));
          await journal.flush();
          expect(sequence).toBeGreaterThan(acknowledged);
          expect((await numbersIn(files)).at(-1)).toBe(9);
        }
      },
    );
  },
);

it('a journal whose newest file was cut and then removed does not give what is left its name back', async () => {
  const { clock, files, journal } = await open();
  await journal.append(numberedEntry('a', 1));
  const path = newest(files);
  files.cut(path, 200);
  files.remove(path);
  await journal.inspect();
  await letHeal(journal, clock);
  expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
  expect(files.paths()).toEqual([]);
});

it('a journal whose folder was removed makes another one when the shards have everything', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'journal-lost-')), 'journal');
  const clock = new TestClock();
  const { journal } = await openJournal(realFileSystem, { clock, folder });
  await journal.append(numberedEntry('a', 1));
  journal.released('a', 1);
  rmSync(folder, { recursive: true });
  await journal.inspect();
  expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
  await until(() => {
    clock.advance(100);
    return journal.trouble === undefined;
  }, 'it takes entries again');
  expect(await journal.append(numberedEntry('a', 2))).toBe(2);
  await journal.close();
  rmSync(dirname(folder), { recursive: true });
});

it('a journal whose newest file is cut right before a record is written does not write it, which would hide that', async () => {
  const files = new FaultyFileSystem();
  let before = (): void => {};
  const { journal } = await openJournal(files, { clock: new TestClock(), requireHeld: () => before() });
  await journal.append(numberedEntry('a', 1));
  before = () => files.cut(newest(files), 200);
  await expect(journal.append(numberedEntry('a', 2))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
  expect(String(journal.trouble?.cause)).toMatch(/ was cut /);
  expect(files.content(newest(files))).toHaveLength(200);
});

it('a journal that has not begun takes nothing, and does not look after its files', async () => {
  const { files, journal } = await open();
  await journal.append(numberedEntry('a', 1));
  await journal.close();
  const looked = await Journal.look({
    folder: FOLDER,
    durability: 'local',
    files,
    clock: new TestClock(),
    random: systemRandom,
    report: () => {},
  });
  await expect(looked.append(numberedEntry('a', 2))).rejects.toMatchObject({ name: 'InvariantError' });
  files.remove(newest(files));
  await looked.inspect();
  expect(looked.trouble).toBeUndefined();
});

it('a journal that has not started removes nothing, even if records are released', async () => {
  const { files, journal } = await open({ segmentBytes: 4_096 });
  for (const number of [1, 2, 3]) await journal.append(numberedEntry('a', number, 3_000));
  await journal.close();
  const paths = files.paths();
  const looked = await Journal.look({
    folder: FOLDER,
    durability: 'local',
    files,
    clock: new TestClock(),
    random: systemRandom,
    report: () => {},
  });
  looked.released('a', 3);
  for (let turns = 0; turns < 20; turns += 1) await turn();
  expect([paths.length, files.paths()]).toEqual([3, paths]);
  await looked.begin();
  looked.released('a', 3);
  await until(() => files.paths().length === 1, 'they leave');
});

describe('a journal whose older files', () => {
  async function withSegments() {
    const opened = await open({ segmentBytes: 4_096 });
    for (const number of [1, 2, 3]) await opened.journal.append(numberedEntry('a', number, 3_000));
    expect(opened.files.paths()).toHaveLength(3);
    return opened;
  }

  /** Three segments, each with a record of another actor. */
  async function openWithOwners() {
    const opened = await open({ segmentBytes: 4_096 });
    for (const [index, actor] of ['a', 'b', 'c'].entries())
      await opened.journal.append(numberedEntry(actor, index + 1, 3_000));
    return opened;
  }

  it.each([
    ['removed', (files: FaultyFileSystem) => files.remove(files.paths()[0] as string)],
    ['cut', (files: FaultyFileSystem) => files.cut(files.paths()[1] as string, 100)],
  ])('were %s resumes when they are no longer needed', async (_, harm) => {
    const { clock, files, journal } = await withSegments();
    harm(files);
    await journal.inspect();
    await letHeal(journal, clock);
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
    journal.released('a', 2);
    await letHeal(journal, clock);
    expect(await journal.append(numberedEntry('a', 4))).toBe(4);
    expect(await numbersIn(files)).toEqual([3, 4]);
  });

  it('are all gone writes the newest again, and waits for nothing but the others', async () => {
    const { clock, files, journal } = await withSegments();
    for (const path of files.paths()) files.remove(path);
    journal.released('a', 2);
    await journal.inspect();
    await letHeal(journal, clock);
    await journal.append(numberedEntry('a', 4));
    expect(await numbersIn(files)).toEqual([3, 4]);
  });

  it('are wanted by a reader are not dropped while it reads', async () => {
    const { clock, files, journal } = await withSegments();
    const reading = journal.read(0);
    await reading.next();
    files.cut(files.paths()[1] as string, 100);
    await journal.inspect();
    journal.released('a', 2);
    await letHeal(journal, clock);
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
    await reading.return();
    await letHeal(journal, clock);
    expect(journal.trouble).toBeUndefined();
  });

  it('are needed keep a newer one that is not, for they leave in order', async () => {
    const { clock, files, journal } = await openWithOwners();
    files.cut(files.paths()[1] as string, 100);
    await journal.inspect();
    journal.released('b', 2);
    await letHeal(journal, clock);
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
    journal.released('a', 1);
    await letHeal(journal, clock);
    expect(await journal.append(numberedEntry('c', 4))).toBe(4);
    expect(await numbersIn(files)).toEqual([3, 4]);
  });

  it('left by right are not missed', async () => {
    const { events, files, journal } = await withSegments();
    journal.released('a', 2);
    for (let round = 0; round < 100; round += 1) {
      await journal.inspect();
      await turn();
    }
    expect(files.paths()).toHaveLength(1);
    expect(notableKinds(events)).toEqual(['segment-removed', 'segment-removed']);
  });

  it('left by right while they were looked at are not missed', async () => {
    const files = new SlowLooks();
    const { journal } = await openJournal(files, { clock: new TestClock(), segmentBytes: 4_096 });
    for (const number of [1, 2, 3]) await journal.append(numberedEntry('a', number, 3_000));
    const look = Promise.withResolvers<void>();
    files.looking = look.promise;
    const inspected = journal.inspect();
    journal.released('a', 2);
    await until(() => files.paths().length === 1, 'they have left');
    look.resolve();
    await inspected;
    expect(journal.trouble).toBeUndefined();
  });
});

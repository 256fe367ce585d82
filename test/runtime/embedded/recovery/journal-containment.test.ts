import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { surveyJournal } from '#runtime/embedded/recovery/journal-survey.ts';
import { parseSegmentFileName } from '#runtime/embedded/segments/journal-format.ts';
import { actorMark } from '#runtime/log/actor-mark.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { LostRecords } from '#runtime/log/ports.ts';
import type { FaultyFileSystem as Files } from '#test/support/faulty-file-system.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { numberedEntry, plain, recordsOf } from '#test/support/log-entries.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import { FOLDER, notableKinds, openJournal } from '../journal/journal-harness.ts';

const SEGMENT_BYTES = 8192;

/** A journal of several segments as a killed process leaves it, with records of one and of several actors. */
interface Sample {
  readonly files: FaultyFileSystem;
  /** By the sequence of their record. */
  readonly entries: ReadonlyMap<number, readonly LogEntry[]>;
  /** As {@link entries}, as texts. */
  readonly texts: ReadonlyMap<number, readonly string[]>;
  readonly last: number;
}

let sample: Sample;

beforeAll(async () => {
  const files = new FaultyFileSystem();
  const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
  const entries = new Map<number, LogEntry[]>();
  let number = 0;
  for (let record = 0; record < 24; record += 1) {
    const group = Array.from({ length: 1 + (record % 3) }, (_, index) => {
      number += 1;
      return numberedEntry(`t/r/${'abc'[index]}${record % 2}`, number, 300 + 100 * index);
    });
    const sequences = await Promise.all(group.map((entry) => journal.append(entry)));
    entries.set(sequences[0] as number, group);
  }
  const texts = new Map([...entries].map(([sequence, group]) => [sequence, group.map(textOf)]));
  sample = { files: files.crash('process-kill'), entries, texts, last: journal.lastSequence };
});

interface Contained {
  readonly read: ReadonlyMap<number, readonly string[]>;
  readonly lost: readonly LostRecords[];
  readonly notable: readonly string[];
}

async function contain(files: Files): Promise<Contained> {
  const { events, journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES, containsDamage: true });
  const read = new Map<number, readonly string[]>();
  for (const { entries, sequence } of await recordsOf(journal)) read.set(sequence, entries.map(textOf));
  await journal.close();
  return { read, lost: journal.damage?.lost ?? [], notable: notableKinds(events) };
}

const textOf = (entry: LogEntry): string => JSON.stringify(plain(entry));

/** What is read was written, in its record and its order. */
function judgeRead({ read }: Contained, what: string): void {
  for (const [sequence, found] of read) {
    const written = sample.texts.get(sequence) ?? [];
    const places = found.map((text) => written.indexOf(text));
    const isSame = places.every((place, index) => place > (places[index - 1] ?? -1));
    if (!isSame) expect.fail(`${what}: record ${sequence} was not written like this`);
  }
}

/** And what is not read is named as lost. */
function judge(contained: Contained, what: string): void {
  judgeRead(contained, what);
  const { lost, notable, read } = contained;
  for (const [sequence, written] of sample.entries) {
    // A last record that never arrived was acknowledged to nobody.
    if (sequence === sample.last && notable.includes('tail-discarded')) continue;
    const found = read.get(sequence) ?? [];
    for (const [index, { actor }] of written.entries()) {
      if (found.includes(sample.texts.get(sequence)?.[index] as string)) continue;
      const mark = actorMark(actor).toString('hex');
      const isNamed = lost.some(
        ({ actors, first, last }) =>
          first <= sequence && last >= sequence && (actors === undefined || actors.has(mark)),
      );
      if (!isNamed) expect.fail(`${what}: ${actor} in ${sequence} is missing and not named`);
    }
  }
}

function flipped(path: string, at: number): FaultyFileSystem {
  const files = sample.files.copy();
  flip(files, path, at);
  return files;
}

function flip(files: FaultyFileSystem, path: string, at: number): void {
  const content = files.content(path);
  content[at] = (content[at] as number) ^ (1 << (at % 8));
  files.put(path, content);
}

function endOf(path: string): number {
  const content = sample.files.content(path);
  let end = content.length;
  while (content[end - 1] === 0) end -= 1;
  return end;
}

const segments = (): readonly string[] => sample.files.paths().filter((path) => path.endsWith('.journal'));

describe('a damaged journal that is contained', () => {
  it('loses at most one entry of one actor to a flipped bit at any place, and reads all others', async () => {
    expect(segments().length).toBeGreaterThan(2);
    for (const path of segments()) {
      // Every byte of heads, tables and the first records, and some of the others.
      for (let at = 0; at < endOf(path); at += at < 500 && path === segments()[1] ? 1 : 61) {
        const what = `${path} byte ${at}`;
        const contained = await contain(flipped(path, at));
        judge(contained, what);
        const { lost, notable } = contained;
        expect(notable, what).not.toContain('tail-discarded');
        expect(lost.length, what).toBeLessThanOrEqual(1);
        if (lost[0] !== undefined) expect(lost[0].actors?.size, what).toBe(1);
      }
    }
  });

  it('reads what is not named as lost however it is damaged: cut, wiped out, or flipped in many places [DUR-022]', async () => {
    let seed = 1;
    const dice = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    for (let round = 0; round < 300; round += 1) {
      const files = sample.files.copy();
      for (let damages = 1 + dice(3); damages > 0; damages -= 1) {
        const path = segments()[dice(segments().length)] as string;
        const content = files.content(path);
        const at = dice(Math.min(content.length, endOf(path)));
        const bytes = Math.min(content.length - at, 1 + dice(1200));
        const kind = dice(5);
        if (kind === 0) files.put(path, content.subarray(0, at));
        else if (kind === 1)
          files.put(path, Buffer.concat([content.subarray(0, at), content.subarray(at + bytes)]));
        else {
          if (kind === 2) content.fill(0, at, at + bytes);
          else if (kind === 3) content.fill(dice(256), at, at + bytes);
          else
            for (let flips = 0; flips < 5; flips += 1) {
              const place = dice(content.length);
              content[place] = (content[place] as number) ^ (1 << dice(8));
            }
          files.put(path, content);
        }
      }
      judgeUnlessCutAtEnd(await contain(files), `round ${round}`, files);
    }
  });

  it('names a missing segment as lost for everybody, and one of another journal', async () => {
    const [, second] = segments();
    const missing = sample.files.copy();
    missing.remove(second as string);
    const contained = await contain(missing);
    judge(contained, 'missing');
    expect(contained.lost).toMatchObject([{ actors: undefined, what: 'a segment is missing' }]);
    const other = new FaultyFileSystem();
    const { journal } = await openJournal(other, { segmentBytes: SEGMENT_BYTES });
    for (const group of sample.entries.values()) {
      const others = group.map((entry) => ({ ...entry, actor: `${entry.actor}x` }));
      await Promise.all(others.map((entry) => journal.append(entry)));
    }
    const foreign = sample.files.copy();
    const [, theirs] = other.paths();
    foreign.put(second as string, other.content(theirs as string));
    const found = await contain(foreign).catch((error: unknown) => error);
    if (found instanceof Error) expect(found).toMatchObject({ code: 'DATA_CORRUPTED' });
    else judge(found as Contained, 'foreign');
  });

  it('names every segment of another journal as lost, also one that continues another one of it', async () => {
    const [first, second, third] = segments() as [string, string, string];
    const other = new FaultyFileSystem();
    const { journal } = await openJournal(other, { segmentBytes: SEGMENT_BYTES });
    for (const group of sample.entries.values()) {
      const others = group.map((entry) => ({ ...entry, actor: entry.actor.replace('t/', 'u/') }));
      await Promise.all(others.map((entry) => journal.append(entry)));
    }
    await journal.close();
    const foreign = sample.files.copy();
    for (const path of segments().slice(1)) foreign.put(path, other.content(path));
    for (const path of segments().slice(3)) foreign.remove(path);
    const contained = await contain(foreign);
    expect(contained.lost.map(({ where }) => where)).toEqual([second, third]);
    const own = parseSegmentFileName(basename(second)) as number;
    expect([...contained.read.keys()]).toEqual(
      [...sample.entries.keys()].filter((sequence) => sequence < own),
    );
    judgeRead(contained, first);
    const survey = await surveyJournal(foreign, FOLDER);
    expect(survey.findings.map(({ file }) => file)).toEqual([second, third]);
    const read: number[] = [];
    for await (const { sequence } of survey.read()) read.push(sequence);
    expect(read).toEqual([...contained.read.keys()]);
    // What is written behind them is not of that journal.
    const options = { segmentBytes: SEGMENT_BYTES, containsDamage: true };
    const again = (await openJournal(foreign, options)).journal;
    await again.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    const written = await again.append(numberedEntry('t/r/new', 1));
    await again.close();
    const last = (await openJournal(foreign, options)).journal;
    expect((await recordsOf(last)).at(-1)?.sequence).toBe(written);
    await last.close();
  });

  it('needs no room for a decision that is there already', async () => {
    const files = flipped(segments()[1] as string, 400);
    const options = { segmentBytes: SEGMENT_BYTES, containsDamage: true };
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    await journal.close();
    const full = files.crash('drop-unsynced');
    const again = (await openJournal(full, options)).journal;
    full.fail('write', 'ENOSPC');
    await again.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    await expect(again.damage?.decide(new Map([['t/r/y', 'it is lost']]))).rejects.toMatchObject({
      code: 'ENOSPC',
    });
    await again.close();
  });

  it('continues behind the damage, keeps what it has of it, and is complete again when the file is back', async () => {
    const path = segments()[1] as string;
    const files = flipped(path, 400);
    const options = { segmentBytes: SEGMENT_BYTES, containsDamage: true };
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    const next = await journal.append(numberedEntry('t/r/new', 1));
    expect(next).toBe(sample.last + 1);
    for (const actor of journal.pending().keys()) journal.released(actor, journal.lastSequence);
    for (let number = 2; number < 40; number += 1)
      journal.released('t/r/new', await journal.append(numberedEntry('t/r/new', number, 500)));
    await journal.close();
    // Behind the damage segments come and go; everything up to it is there still.
    const names = files.paths().filter((name) => name.endsWith('.journal'));
    expect(names.slice(0, segments().length)).toEqual(segments());
    expect(names.length).toBeLessThan(segments().length + 5);

    const again = (await openJournal(files.crash('drop-unsynced'), options)).journal;
    expect(again.damage).toMatchObject({ lost: [] });
    expect([...(again.damage?.refused ?? [])]).toEqual([['t/r/x', 'it is lost']]);
    await again.close();
    await expect(openJournal(files.copy())).rejects.toMatchObject({
      code: 'DATA_CORRUPTED',
      message: expect.stringContaining('damage.json') as string,
    });

    const mended = files.copy();
    mended.put(path, sample.files.content(path));
    const whole = (await openJournal(mended, options)).journal;
    expect(whole.damage).toMatchObject({ lost: [] });
    expect(whole.damage?.refused.size).toBe(0);
    const read = await recordsOf(whole);
    expect(read.filter(({ sequence }) => sequence <= sample.last).length).toBe(sample.entries.size);
    await whole.damage?.decide(new Map());
    for (const actor of whole.pending().keys()) whole.released(actor, whole.lastSequence);
    await whole.append(numberedEntry('t/r/new', 99));
    await whole.close();
    expect(mended.paths()).not.toContain(`${FOLDER}/damage.json`);
    expect((await openJournal(mended)).journal.lastSequence).toBe(whole.lastSequence);
  });
});

describe('what was decided about damage', () => {
  const options = { segmentBytes: SEGMENT_BYTES, containsDamage: true };
  const note = `${FOLDER}/damage.json`;

  it('is not over when the damaged file is gone with all before it: what was lost is not back', async () => {
    const path = segments()[0] as string;
    const files = flipped(path, 400);
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    await journal.close();
    files.remove(path);
    const again = (await openJournal(files, options)).journal;
    expect([...(again.damage?.refused.keys() ?? [])]).toEqual(['t/r/x']);
    await again.close();
  });

  it('is known until the last segment has left that it is about', async () => {
    const files = flipped(segments()[1] as string, 400);
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map());
    expect(files.paths()).toContain(note);
    const { lastSequence } = journal;
    for (const actor of journal.pending().keys()) journal.released(actor, lastSequence);
    const left = (): number => files.paths().filter((name) => name.endsWith('.journal')).length;
    await until(() => {
      journal.released('t/r/a0', lastSequence);
      return left() === 1;
    }, 'all but the newest leave, which is one of them');
    expect(files.paths()).toContain(note);
    // Another one begins with it.
    await journal.append(numberedEntry('t/r/new', 1));
    await until(() => !files.paths().includes(note), 'it is forgotten');
    expect(left()).toBe(1);
    await journal.close();
  });

  it('ends with what was lost last when nobody depended on what was lost before, and that has left', async () => {
    const files = flipped(segments()[1] as string, 400);
    const newest = segments().at(-1) as string;
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map());
    const begin = parseSegmentFileName(basename(newest)) as number;
    await until(() => {
      for (const actor of journal.pending().keys()) journal.released(actor, begin - 1);
      return !files.paths().includes(segments()[1] as string);
    }, 'the damaged one leaves');
    await journal.append(numberedEntry('t/r/new', 1));
    await journal.close();
    const whole = files.content(newest);
    flip(files, newest, 400);
    const again = (await openJournal(files, options)).journal;
    expect(again.damage?.lost).not.toEqual([]);
    await again.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    await again.close();
    files.put(newest, whole);
    const last = (await openJournal(files, options)).journal;
    expect([...(last.damage?.refused.keys() ?? [])]).toEqual([]);
    await last.close();
  });

  it('is kept about what is still damaged when something else is lost later', async () => {
    const files = flipped(segments()[1] as string, 400);
    const newest = segments().at(-1) as string;
    const { journal } = await openJournal(files, options);
    const known = journal.damage?.lost ?? [];
    await journal.damage?.decide(new Map());
    await journal.append(numberedEntry('t/r/new', 1));
    await journal.close();
    flip(files, newest, 400);
    const again = (await openJournal(files, options)).journal;
    const later = again.damage?.lost ?? [];
    expect([known.length, later.length]).toEqual([1, 1]);
    expect(later).not.toEqual(known);
    await again.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    await again.close();
    const last = (await openJournal(files, options)).journal;
    expect(last.damage?.lost).toEqual([]);
    expect([...(last.damage?.refused.keys() ?? [])]).toEqual(['t/r/x']);
    await last.close();
  });

  it('is kept about a file that was taken away when somebody depends on it and something else is back', async () => {
    const path = segments()[0] as string;
    const files = flipped(path, 400);
    const newest = segments().at(-1) as string;
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    await journal.append(numberedEntry('t/r/new', 1));
    await journal.close();
    files.remove(path);
    const whole = files.content(newest);
    flip(files, newest, 400);
    const again = (await openJournal(files, options)).journal;
    expect(again.damage?.lost).toHaveLength(1);
    await again.damage?.decide(new Map(again.damage.refused));
    await again.close();
    files.put(newest, whole);
    const last = (await openJournal(files, options)).journal;
    expect([...(last.damage?.refused.keys() ?? [])]).toEqual(['t/r/x']);
    await last.close();
  });

  it('is not written again when nothing is lost besides what has left', async () => {
    const files = flipped(segments()[1] as string, 400);
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map());
    const begin = parseSegmentFileName(basename(segments().at(-1) as string)) as number;
    await until(() => {
      for (const actor of journal.pending().keys()) journal.released(actor, begin - 1);
      return !files.paths().includes(segments()[1] as string);
    }, 'the damaged one leaves');
    await journal.close();
    const before = files.content(note);
    const again = (await openJournal(files, options)).journal;
    await again.damage?.decide(new Map());
    expect(files.content(note).equals(before)).toBe(true);
    await again.close();
  });

  it('misses the records of the newest file when that is gone before anything was written after the decision', async () => {
    const files = flipped(segments()[1] as string, 400);
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    await journal.close();
    const gone = segments().at(-1) as string;
    const first = parseSegmentFileName(basename(gone)) as number;
    files.remove(gone);
    const lost = {
      first,
      last: sample.last,
      what: 'the end of the segment is missing, or a segment after it',
    };
    const survey = await surveyJournal(files, FOLDER);
    expect(survey.lost.at(-1)).toMatchObject(lost);
    expect(survey.findings.at(-1)).toMatchObject({ what: lost.what });
    const again = await openJournal(files, options);
    expect(again.journal.damage?.lost).toMatchObject([lost]);
    await again.journal.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    // The next start has the same decision.
    await again.journal.append(numberedEntry('t/r/new', 1));
    await again.journal.close();
    const last = await openJournal(files, options);
    expect(last.journal.damage?.lost).toEqual([]);
    await last.journal.close();
  });

  it('keeps every segment while an actor is refused, and another one that was cut is left without them', async () => {
    const files = flipped(segments()[1] as string, 400);
    const clock = new TestClock();
    const { journal } = await openJournal(files, { ...options, clock });
    await journal.damage?.decide(new Map([['t/r/x', 'it is lost']]));
    for (let number = 1; number < 6; number += 1)
      await journal.append(numberedEntry('t/r/new', number, 5_000));
    const later = files.paths().filter((name) => name.endsWith('.journal'))[segments().length] as string;
    files.cut(later, 100);
    await journal.inspect();
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
    // Those of before are needed still, and stay whatever becomes of this one.
    journal.released('t/r/new', journal.lastSequence);
    await until(() => {
      clock.advance(500);
      return journal.trouble === undefined;
    }, 'it goes on');
    expect(files.paths()).toEqual(expect.arrayContaining([...segments()]));
    expect(files.paths()).not.toContain(later);
    await journal.close();
  });
});

describe('what was decided about damage on which nobody depends', () => {
  const options = { segmentBytes: SEGMENT_BYTES, containsDamage: true };
  const note = `${FOLDER}/damage.json`;
  const place = (at: number): string => segments().at(at) as string;
  const mend = (files: Files, at: number): void => files.put(place(at), sample.files.content(place(at)));

  interface Decided {
    readonly refused: readonly string[];
    /** What is not decided yet. */
    readonly lost: number;
  }

  /** What an opening finds, of which only `refused` depend on what was lost. */
  async function decided(files: Files, refused: readonly string[] = []): Promise<Decided> {
    const { journal } = await openJournal(files, options);
    const before = journal.damage?.refused ?? new Map<string, string>();
    await journal.damage?.decide(
      new Map([...before, ...refused.map((actor) => [actor, 'it is lost'] as const)]),
    );
    await journal.append(numberedEntry('t/r/new', 1));
    await journal.close();
    return { refused: [...before.keys()], lost: journal.damage?.lost.length ?? 0 };
  }

  /** Nobody depends on what some segments lose, one after the other, and then an actor on what the newest one does. */
  async function oneRefused(...nobodys: readonly number[]): Promise<Files> {
    const files = sample.files.copy();
    for (const at of nobodys) {
      flip(files, place(at), 400);
      expect(await decided(files)).toEqual({ refused: [], lost: 1 });
    }
    flip(files, place(-1), 400);
    expect(await decided(files, ['t/r/x'])).toEqual({ refused: [], lost: 1 });
    expect(await decided(files)).toEqual({ refused: ['t/r/x'], lost: 0 });
    return files;
  }

  /** Until all segments have left that the decision is about, and it with them. */
  async function leaves(files: Files): Promise<void> {
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map());
    await journal.append(numberedEntry('t/r/new', 2));
    for (const actor of journal.pending().keys()) journal.released(actor, journal.lastSequence);
    await until(() => {
      journal.released('t/r/new', journal.lastSequence);
      return !files.paths().includes(note);
    }, 'it is forgotten');
    await journal.close();
  }

  it('keeps nobody refused when all else is back, is not made again or written again, and leaves with its segments', async () => {
    const files = await oneRefused(1);
    mend(files, -1);
    // A second time it would concern actors that are later.
    for (let time = 0; time < 2; time += 1) expect(await decided(files)).toEqual({ refused: [], lost: 0 });
    const { journal } = await openJournal(files, options);
    await journal.damage?.decide(new Map());
    const begin = parseSegmentFileName(basename(place(-1))) as number;
    await until(() => {
      for (const actor of journal.pending().keys()) journal.released(actor, begin - 1);
      return !files.paths().includes(place(1));
    }, 'the damaged one leaves');
    await journal.close();
    const before = files.content(note);
    expect(await decided(files)).toEqual({ refused: [], lost: 0 });
    expect(files.content(note).equals(before)).toBe(true);
    await leaves(files);
    expect((await openJournal(files)).journal.damage).toBeUndefined();
  });

  it('is over when that is back, too: what is lost of it later is decided anew', async () => {
    const files = await oneRefused(1);
    for (const at of [1, -1]) mend(files, at);
    expect(await decided(files)).toEqual({ refused: [], lost: 0 });
    flip(files, place(1), 400);
    expect(await decided(files)).toEqual({ refused: [], lost: 1 });
  });

  it('says nothing of what is lost when all else comes back', async () => {
    const files = await oneRefused(1);
    mend(files, -1);
    flip(files, place(0), 400);
    expect(await decided(files, ['t/r/y'])).toEqual({ refused: [], lost: 1 });
    expect(await decided(files)).toEqual({ refused: ['t/r/y'], lost: 0 });
    mend(files, 0);
    expect(await decided(files)).toEqual({ refused: [], lost: 0 });
  });

  it('does not free an actor while what it depends on is lost', async () => {
    const files = await oneRefused(1);
    mend(files, 1);
    expect(await decided(files)).toEqual({ refused: ['t/r/x'], lost: 0 });
  });

  it('is the same for two such ranges, of which one is back', async () => {
    const files = await oneRefused(0, 1);
    for (const at of [1, -1]) mend(files, at);
    for (let time = 0; time < 2; time += 1) expect(await decided(files)).toEqual({ refused: [], lost: 0 });
  });

  it('is not known any more of what was back when others were decided', async () => {
    const files = sample.files.copy();
    for (const at of [0, 1]) {
      flip(files, place(at), 400);
      expect(await decided(files)).toEqual({ refused: [], lost: 1 });
    }
    mend(files, 0);
    flip(files, place(-1), 400);
    expect(await decided(files, ['t/r/x'])).toEqual({ refused: [], lost: 1 });
    flip(files, place(0), 400);
    expect(await decided(files)).toEqual({ refused: ['t/r/x'], lost: 1 });
  });

  it('is not known from the note of an earlier version, which waits until that is back, too', async () => {
    const files = await oneRefused(1);
    const { sha256: _, ...body } = JSON.parse(files.content(note).toString(), (key, value: unknown) =>
      key === 'isNobodys' ? undefined : value,
    ) as Record<string, unknown>;
    files.put(note, Buffer.from(JSON.stringify({ ...body, sha256: hash('sha256', JSON.stringify(body)) })));
    mend(files, -1);
    expect(await decided(files)).toEqual({ refused: ['t/r/x'], lost: 0 });
    mend(files, 1);
    expect(await decided(files)).toEqual({ refused: [], lost: 0 });
  });
});

/** As {@link judge}; a journal that was cut where a record ends says nothing of what was behind. */
function judgeUnlessCutAtEnd(contained: Contained, what: string, files: FaultyFileSystem): void {
  const newest = segments().at(-1) as string;
  if (files.content(newest).length >= endOf(newest)) judge(contained, what);
  else judgeRead(contained, what);
}

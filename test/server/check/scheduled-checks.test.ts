import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CheckInfo } from '#protocols/rest/management/check-ports.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { CheckResults } from '#server/check/check-results.ts';
import { ScheduledChecks } from '#server/check/scheduled-checks.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const HOUR_MS = 3_600_000;
const WEEK_HOURS = 168;

let folder: string;
let clock: TestClock;
let results: CheckResults;
let started: number;
let isRefused: boolean;
let scheduled: ScheduledChecks;

/** A process that has the directory. */
function begin(intervalHours = WEEK_HOURS): void {
  results = new CheckResults(realFileSystem, folder, clock);
  started = 0;
  const start = (): Promise<CheckInfo> => {
    if (isRefused) return Promise.reject(new ServiceError('STORAGE_FULL'));
    started += 1;
    return Promise.resolve(complete(0));
  };
  scheduled = new ScheduledChecks({ checks: { start }, results, clock, log: silentLog, intervalHours });
}

function complete(damageTotal: number): CheckInfo {
  const damage = { file: 'actors/a/data.mdb', actor: 'a', table: 'nodes', what: 'fails its checksum' };
  return {
    id: 'c',
    state: 'done',
    startedAt: '',
    finishedAt: new Date(clock.wallMs()).toISOString(),
    actors: 1,
    actorsTotal: 1,
    bytes: 1,
    current: undefined,
    damage: damageTotal === 0 ? [] : [damage],
    damageTotal,
    partitionsSkipped: [],
    error: undefined,
  };
}

async function pass(hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    clock.advance(HOUR_MS);
    await settle();
  }
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'scheduled-checks-'));
  clock = new TestClock();
  isRefused = false;
  begin();
  await results.begin();
});

afterEach(() => {
  scheduled.stop();
  rmSync(folder, { recursive: true });
});

describe('checks that a member starts by itself [CHK-014]', () => {
  it('begin when the last complete one, or the new directory, is a week old, also over restarts', async () => {
    for (let day = 0; day < 6; day += 1) {
      await pass(24);
      scheduled.stop();
      begin();
    }
    expect(started).toBe(0);
    await pass(24);
    expect(started).toBe(1);
    await results.note(complete(0));
    await pass(WEEK_HOURS - 2);
    expect(started).toBe(1);
    await pass(2);
    expect(started).toBe(2);
  });

  it('are tried again when they could not start', async () => {
    isRefused = true;
    await pass(WEEK_HOURS + 1);
    expect(started).toBe(0);
    isRefused = false;
    await pass(1);
    expect(started).toBe(1);
  });

  it('are not put off by a clock that was set back', async () => {
    clock.setWall(clock.wallMs() - 1000 * HOUR_MS);
    await pass(1);
    expect(started).toBe(1);
  });

  it('are left out with an interval of 0, and when the member ends', async () => {
    scheduled.stop();
    await pass(WEEK_HOURS + 1);
    begin(0);
    await pass(WEEK_HOURS + 1);
    expect(started).toBe(0);
  });
});

describe('what the last complete check found', () => {
  it('is a finding until a check finds nothing, also over restarts [CHK-014]', async () => {
    expect(results.findings).toEqual([]);
    await results.note(complete(7));
    for (const each of [results, new CheckResults(realFileSystem, folder, clock)]) {
      expect(each.findings).toEqual([
        expect.objectContaining({
          code: 'stored-damage',
          message: expect.stringContaining(
            'found 7 places where stored data does not verify, the first: actors/a/data.mdb: fails its checksum',
          ),
        }),
      ]);
    }
    await results.note(complete(0));
    expect(new CheckResults(realFileSystem, folder, clock).findings).toEqual([]);
  });

  it('is unknown when its file is damaged: a check is due, and the file is left as it is until then', async () => {
    const path = join(folder, 'last-check.json');
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '{"finishedMs":"x","damageTotal":1,"first":""}',
      '{"finishedMs":9000000000000000,"damageTotal":1,"first":""}',
      '{"finishedMs":1,"damageTotal":-5,"first":""}',
    ]) {
      writeFileSync(path, text);
      const read = new CheckResults(realFileSystem, folder, clock);
      expect([read.isUnreadable, read.sinceMs, read.findings]).toEqual([true, 0, []]);
      await read.begin();
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
    scheduled.stop();
    begin();
    await pass(1);
    expect(started).toBe(1);
    await results.note(complete(0));
    expect(new CheckResults(realFileSystem, folder, clock).isUnreadable).toBe(false);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemberChecks } from '#server/check/member-checks.ts';
import type { OwnShard } from '#server/check/own-shards.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { until } from '#test/support/until.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'member-checks-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a check of a running member', () => {
  it('that is cancelled in the middle of a shard ends, and the next one begins [CHK-005]', async () => {
    let copies = 0;
    // Its copy takes until it is given up.
    const endless: OwnShard = {
      actor: 'default/tenant',
      file: 'data.mdb',
      tableNames: [],
      copy: (_, signal) =>
        new Promise((_resolve, reject) => {
          copies += 1;
          signal.addEventListener('abort', () => reject(new ServiceError('REQUEST_CANCELLED', 'Given up')));
        }),
      damaged: () => {},
    };
    const checks = new MemberChecks({
      dataDir: root,
      shards: { all: () => Promise.resolve({ shards: [endless], partitionsSkipped: [] }) },
      slices: new SliceScheduler(systemClock),
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      space: { refusal: () => undefined },
      results: { note: () => Promise.resolve() },
    });
    const check = await checks.start();
    await until(() => copies === 1, 'the shard is copied');
    await expect(checks.start()).rejects.toMatchObject({ code: 'CONFLICT' });
    checks.stop(check.id);
    await until(() => check.state !== 'running', 'the check is over');
    expect(check).toMatchObject({ state: 'failed', actors: 0, error: { code: 'REQUEST_CANCELLED' } });
    const next = await checks.start();
    await until(() => copies === 2, 'the shard is copied again');
    expect(next.state).toBe('running');
    await checks.close();
    expect(next.state).toBe('failed');
  });
});

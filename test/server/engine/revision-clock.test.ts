import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const TEN_YEARS_MS = 10 * 365 * 86_400_000;
const MINUTE_MS = 60_000;

/** The clock of the machine, with a wall clock that is set. */
class SetClock implements Clock {
  shiftMs = 0;
  wallMs = (): number => systemClock.wallMs() + this.shiftMs;
  monotonicMs = systemClock.monotonicMs.bind(systemClock);
  after = systemClock.after.bind(systemClock);
  soon = systemClock.soon.bind(systemClock);
}

let folder: string;
let clock: SetClock;
let server: TestServer;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-clock-'));
  clock = new SetClock();
  server = await startServer({ dataDir: folder, clock });
});

afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Makes a repository with a token of this moment. @returns when the server says it was made, in milliseconds */
async function write(name: string): Promise<number> {
  const login = { username: 'admin', password: ADMIN_PASSWORD };
  const { json } = await server.request('POST', '/api/svc/sys/default/auth', { body: login });
  const made = await server.request('POST', '/api/repositories', {
    token: json.token as string,
    body: { repo_id: name },
  });
  expect(made.status).toBe(201);
  const base = `/api/management/repositories/default/${name}`;
  const head = await server.request('GET', `${base}/branches/main/head`, { token: json.token as string });
  return Number(String(head.json.revision).split('-')[0]);
}

/** What `/ready` says, in seconds. */
async function aheadSeconds(): Promise<number> {
  const { json, status } = await server.request('GET', '/ready');
  expect(status).toBe(200);
  return json.revisions_ahead_seconds as number;
}

const warnings = async (): Promise<readonly { code: string; severity: string; message: string }[]> =>
  (await server.request('GET', '/api/management/cluster')).json.warnings;
const told = () => server.logLines.filter(({ msg }) => String(msg).startsWith('revisions are ahead'));

describe('revisions that are ahead of the wall clock', () => {
  it('are reported in the log, /ready and the status once the clock is right again, and after a restart', async () => {
    await write('before');
    expect(await aheadSeconds()).toBe(0);
    clock.shiftMs = TEN_YEARS_MS;
    const future = await write('future');
    expect(future).toBeGreaterThan(systemClock.wallMs() + TEN_YEARS_MS - MINUTE_MS);
    // Nobody can know while the clock says so.
    expect([await aheadSeconds(), told()]).toEqual([0, []]);
    clock.shiftMs = 0;
    await until(() => told().length > 0, 'the log tells it');
    const seconds = await aheadSeconds();
    expect(seconds).toBeGreaterThan((TEN_YEARS_MS - MINUTE_MS) / 1_000);
    expect(await warnings()).toMatchObject([{ code: 'revisions-ahead', severity: 'notice' }]);
    expect(await write('after')).toBeGreaterThanOrEqual(future);
    await server.restart();
    await until(() => told().length > 1, 'the log tells it again');
    expect(await aheadSeconds()).toBeGreaterThan((TEN_YEARS_MS - MINUTE_MS) / 1_000);
    expect(told()).toHaveLength(2);
  });

  it('are not reported up to a few minutes, and no longer once the clock has caught up', async () => {
    clock.shiftMs = 6 * MINUTE_MS;
    await write('slightly');
    clock.shiftMs = 2 * MINUTE_MS;
    expect([await aheadSeconds(), await warnings()]).toEqual([0, []]);
    clock.shiftMs = 0;
    await until(() => told().length > 0, 'the log tells it');
    expect(await aheadSeconds()).toBeGreaterThan(300);
    clock.shiftMs = 10 * MINUTE_MS;
    expect([await aheadSeconds(), await warnings()]).toEqual([0, []]);
    await until(
      () => server.logLines.some(({ msg }) => String(msg).startsWith('wall clock has caught up')),
      'the log tells that it is over',
    );
    expect(told()).toHaveLength(1);
  });
});

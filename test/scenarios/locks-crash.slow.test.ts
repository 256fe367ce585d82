import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { TestResponse } from '#test/support/http-client.ts';
import { checkLockHistory, type LockAnswer, LockHistory } from '#test/support/lock-history.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

/** Clients that work at a time. */
const CLIENTS = 16;

/** Answers after which the process is killed. */
const ANSWERS_PER_LIFE = 400;

const LIVES = 6;
const CAPACITY = 50;
const LONG_TTL_MS = 600_000;
const keys = ['a', 'b', 'c', 'd', 'e'];

let dataDir: string;
let history: LockHistory;
let server: ServerProcess;
let locks: LocksClient;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'grove-test-'));
  history = new LockHistory();
  server = await startServerProcess({ dataDir });
  const token = await server.logIn();
  const made = await server.request('POST', '/api/repositories', { token, body: { repo_id: 'shop' } });
  expect(made.status).toBe(201);
  locks = new LocksClient(server, token, 'shop');
});

afterEach(async () => {
  await server.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Turns an answer into what the history knows; throws for what leaves it open whether something happened. */
function heard(answer: TestResponse, happened: (json: TestResponse['json']) => boolean): LockAnswer | null {
  if (answer.status >= 500) throw new Error(answer.text);
  const { json } = answer;
  return happened(json) ? { token: json.token as number, remaining: json.remaining as number } : null;
}

const acquire = (key: string, ttlMs: number, waitMs = 0) =>
  history.run({ do: 'acquire', key, ttlMs }, async () =>
    heard(await locks.acquire(key, ttlMs, { wait_ms: waitMs }), (json) => json.acquired),
  );
const release = (key: string, token: number) =>
  history.run({ do: 'release', key, token }, async () =>
    heard(await locks.release(key, token), (json) => json.released),
  );
const renew = (key: string, token: number, ttlMs: number) =>
  history.run({ do: 'renew', key, token, ttlMs }, async () =>
    heard(await locks.renew(key, token, ttlMs), (json) => json.renewed),
  );
const claim = (n: number) =>
  history.run({ do: 'claim', pool: 'p', n, capacity: CAPACITY }, async () =>
    heard(await locks.claim('p', n, CAPACITY), (json) => json.claimed),
  );
const putBack = (n: number) =>
  history.run({ do: 'put back', pool: 'p', n }, async () =>
    heard(await locks.releaseUnits('p', n), (json) => json.remaining !== undefined),
  );

/** Works until an outcome is unknown, which is when the process is dead. @returns locks that are still held */
async function work(client: number, answered: () => void): Promise<readonly [string, number][]> {
  for (let round = 0; ; round += 1) {
    const key = keys[(client + round) % keys.length] as string;
    const ttlMs = round % 3 === 0 ? 30 : LONG_TTL_MS;
    const grant = await acquire(key, ttlMs, client % 2 === 0 ? 50 : 0);
    if (grant === undefined) return [];
    answered();
    const units = 1 + (round % 4);
    const claimed = await claim(units);
    if (claimed === undefined) return grant?.token === undefined ? [] : [[key, grant.token]];
    answered();
    if (grant?.token !== undefined) {
      const renewed = round % 2 === 0 ? await renew(key, grant.token, ttlMs) : null;
      const released = await release(key, grant.token);
      if (renewed === undefined || released === undefined) return [];
      answered();
    }
    if (claimed !== null && (await putBack(units)) === undefined) return [];
    answered();
  }
}

function tokenIn(event: object): number | undefined {
  return (event as { readonly answer?: LockAnswer }).answer?.token;
}

async function restart(): Promise<void> {
  await server.close();
  server = await startServerProcess({ dataDir });
  locks = new LocksClient(server, await server.logIn(), 'shop');
}

it('keeps every promise about locks and pools through kill -9 under load [LOCK-003] [LOCK-012] [INV-004]', async () => {
  for (let life = 0; life < LIVES; life += 1) {
    const pinned = await acquire(`pinned ${life}`, LONG_TTL_MS);
    expect(pinned?.token).toBeGreaterThan(0);
    let answers = 0;
    const { promise: busy, resolve: isBusy } = Promise.withResolvers<void>();
    const working = Array.from({ length: CLIENTS }, (_, client) =>
      work(client, () => {
        answers += 1;
        if (answers === ANSWERS_PER_LIFE) isBusy();
      }),
    );
    await busy;
    await server.kill('SIGKILL');
    const held = (await Promise.all(working)).flat();
    await restart();
    // What was granted and not given back is held still, as far as anybody can know.
    for (const [key, token] of held) await renew(key, token, 50);
    for (let earlier = 0; earlier <= life; earlier += 1) {
      const again = await acquire(`pinned ${earlier}`, LONG_TTL_MS);
      expect(again, `pinned ${earlier}`).toBe(null);
    }
    for (const key of keys) {
      const { json, status } = await locks.get(`/locks/${key}`);
      if (status !== 200) continue;
      // A grant nobody heard of is no part of the history.
      const isKnown = history.events.some((event) => tokenIn(event) === json.token);
      await (isKnown ? release(key, json.token) : locks.release(key, json.token));
    }
  }
  expect(checkLockHistory(history.events)).toEqual([]);
  checkUnits(await locks.get('/inventory/p'));
});

/** What remains at the end fits what was answered, whichever of the unknown operations happened. */
function checkUnits({ json }: TestResponse): void {
  let least = 0;
  let most = 0;
  const outcomes = new Map(history.events.map((event) => [event.id, event.type]));
  for (const event of history.events) {
    if (event.type !== 'invoke') continue;
    const { operation } = event;
    if (operation.do !== 'claim' && operation.do !== 'put back') continue;
    const sign = operation.do === 'claim' ? 1 : -1;
    const outcome = outcomes.get(event.id);
    if (outcome === 'ok') {
      least += sign * operation.n;
      most += sign * operation.n;
    } else if (outcome !== 'fail') {
      if (sign === 1) most += operation.n;
      else least -= operation.n;
    }
  }
  const taken = json.capacity - json.remaining;
  expect(taken).toBeGreaterThanOrEqual(Math.max(0, least));
  expect(taken).toBeLessThanOrEqual(Math.min(CAPACITY, most));
}

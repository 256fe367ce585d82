import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import type { Credentials, IdentitiesQuery, Identity, Session } from '#actors/identities/messages.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { checkShard } from '#server/check/check-shard.ts';
import { Engine, engineUser } from '#test/support/engine.ts';

const ACTOR = 'acme/identities';
const script = join(import.meta.dirname, '../support/identities-child.ts');

/** Time after which a child that should have died is given up, in milliseconds. */
const CHILD_MAX_MS = 60_000;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'identities-crash-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What is known of one thing: what was answered last, and what was sent after that. */
interface Known {
  answered: string | undefined;
  sent: string | undefined;
}

/** By `refresh <session>`, `revoke <session>`, `password <email>` or `failed <email>`. */
type Testimony = Map<string, Known>;

/** Runs a child until it is dead, and notes what it said. */
async function run(
  round: number,
  crashPoint: string,
  testimony: Testimony,
  answersMax = Infinity,
): Promise<void> {
  const child = spawn(process.execPath, [script, folder, `${round}`], {
    env: { ...process.env, SVC_CRASH_POINT: crashPoint },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const tooLong = setTimeout(() => child.kill('SIGTERM'), CHILD_MAX_MS);
  let text = '';
  let answers = 0;
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    text += chunk;
    answers += chunk.split('ok ').length - 1;
    if (answers >= answersMax) child.kill('SIGKILL');
  });
  const signal = await new Promise((resolve) => child.on('close', (_code, by) => resolve(by)));
  clearTimeout(tooLong);
  expect(signal).toBe('SIGKILL');
  // A last line that was cut off was never said.
  for (const line of text.split('\n').slice(0, -1)) {
    const [word, what, name, value = 'done'] = line.split(' ') as [string, string, string, string?];
    const known = testimony.get(`${what} ${name}`) ?? { answered: undefined, sent: undefined };
    if (word === 'ok') testimony.set(`${what} ${name}`, { answered: value, sent: undefined });
    else testimony.set(`${what} ${name}`, { ...known, sent: value });
  }
}

/** Opens what a child has left, and compares it with what it said. @returns how many things were compared */
async function inspect(testimony: Testimony): Promise<number> {
  const engine = await Engine.open(folder, { kinds: [identitiesActor] });
  const ask = <Answer>(query: IdentitiesQuery): Answer =>
    engine.host.query(ACTOR, query, engineUser) as Answer;
  try {
    const sessions = new Map<string, Session>();
    for (const key of testimony.keys()) {
      const [what, email] = key.split(' ') as [string, string];
      if (what !== 'password') continue;
      const identity = ask<Identity | undefined>({ type: 'FindIdentity', email });
      for (const each of ask<Session[]>({ type: 'ListSessions', identityId: identity?.identity_id ?? '' }))
        sessions.set(each.session_id, each);
    }
    for (const [key, { answered, sent }] of testimony) {
      const [what, name] = key.split(' ') as [string, string];
      const possible = [answered, sent].filter((value) => value !== undefined);
      if (what === 'refresh') {
        const found = sessions.get(name);
        const isEnded = testimony.get(`revoke ${name}`) !== undefined;
        if (found !== undefined) expect(['1', ...possible], key).toContain(`${found.token_generation}`);
        if (found !== undefined && answered !== undefined)
          expect(found.token_generation, key).toBeGreaterThanOrEqual(Number(answered));
        if (!isEnded && answered !== undefined) expect(found, key).toBeDefined();
      } else if (what === 'revoke') {
        if (answered !== undefined) expect(sessions.get(name), key).toBeUndefined();
      } else {
        const { passwordHash, retryAfterSeconds } = ask<Credentials>({
          type: 'FindCredentials',
          email: name,
          place: 'place-of-the-person',
        });
        if (what === 'failed') {
          if (Number(answered) >= 5) expect(retryAfterSeconds, key).toBeGreaterThan(0);
        } else if (answered === undefined) expect([null, sent], key).toContain(passwordHash);
        else expect(possible, key).toContain(passwordHash);
      }
    }
  } finally {
    await engine.close();
  }
  const work = checkShard({
    actor: ACTOR,
    path: join(folder, 'actors', ACTOR, 'data.mdb'),
    tableNames: [...commonTableNames, ...identitiesActor.tables],
    lastSequence: undefined,
  });
  let step = work.next();
  while (step.done !== true) step = work.next();
  expect(step.value).toEqual([]);
  return testimony.size;
}

it.each([
  'before-append:9',
  'after-append-sent:9',
  'after-durable:9',
  'before-apply:3',
  'mid-apply:2',
  'after-apply:3',
  'before-reply:20',
])('exchanged tokens, ended sessions and passwords survive a death at %s, twice', async (crashPoint) => {
  const testimony: Testimony = new Map();
  for (let round = 1; round <= 2; round += 1) {
    await run(round, crashPoint, testimony);
    expect(await inspect(testimony)).toBeGreaterThan(0);
  }
});

it('and a death at any moment', async () => {
  const testimony: Testimony = new Map();
  for (let round = 1; round <= 4; round += 1) {
    await run(round, '', testimony, 20 + Math.floor(Math.random() * 400));
    await inspect(testimony);
  }
});

import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { checkShard } from '#server/check/check-shard.ts';
import { type HeldSession, hashOf, IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { IdentitiesModel } from './identities-model.ts';

const emails = ['ann@example.org', 'Ben@example.org'] as const;
const spelled = fc.constantFrom(...emails, 'ANN@Example.org', 'ben@EXAMPLE.org');
const email = fc.constantFrom(...emails);
const place = fc.constantFrom('home', 'work', 'elsewhere');
const password = fc.constantFrom('one', 'two');
const pick = fc.nat({ max: 20 });

const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('register' as const), email: spelled, password, place }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('log in' as const),
      email: spelled,
      guesses: fc.array(password, { minLength: 1, maxLength: 7 }),
      place,
      days: fc.constantFrom(1, 30),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('refresh' as const),
      pick,
      times: fc.integer({ min: 1, max: 3 }),
      isOld: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revoke' as const), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('set password' as const), email, password, place, pick }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('activate' as const), email, isActive: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), email }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('limit' as const), most: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      minutes: fc.constantFrom(0.001, 14, 15, 60, 1_439, 1_440, 45 * 1_440, 91 * 1_440),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Known {
  readonly email: string;
  readonly first: HeldSession;
  newest: HeldSession;
}

let real: IdentitiesFixture;
const actors: string[] = [];

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

/** The outcome of what was sent, as a word. */
async function outcomeOf(sent: Promise<unknown>): Promise<string> {
  try {
    await sent;
    return 'ok';
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

/** The real thing and the model, side by side. */
class Pair {
  readonly #model = new IdentitiesModel(real.clock.wallMs());
  /** Sessions that were ever opened. */
  readonly #known: Known[] = [];

  async run(each: Step): Promise<void> {
    switch (each.do) {
      case 'register': {
        const registering = real.register(each.email, each.password, placeOf(each.place));
        const held = await registering.catch(() => undefined);
        const expected = this.#model.register(
          each.email,
          each.password,
          each.place,
          held?.sessionId ?? '',
          held?.tokenHash ?? '',
        );
        expect(await outcomeOf(registering)).toBe(expected);
        if (held !== undefined) this.#known.push({ email: each.email, first: held, newest: held });
        return;
      }
      case 'log in':
        return await this.#logIn(each);
      case 'refresh':
        return await this.#refresh(each);
      case 'revoke': {
        const known = this.#pick(each.pick);
        if (known === undefined) return;
        const { identityId, sessionId } = known.first;
        const sent = real.send({ type: 'RevokeSession', identityId, sessionId, reason: 'revoked' });
        const expected = this.#model.revoke(known.email, sessionId);
        // The account of the session may be gone, and another one have its address.
        expect(await outcomeOf(sent)).toBe(expected);
        return;
      }
      case 'set password':
        return await this.#setPassword(each);
      case 'activate': {
        const identity = real.identity(each.email);
        const account = this.#model.accounts.get(each.email.toLowerCase());
        expect(identity === undefined).toBe(account === undefined);
        if (identity === undefined || account === undefined) return;
        const { identity_id: identityId } = identity;
        await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: each.isActive } });
        account.isActive = each.isActive;
        return;
      }
      case 'delete': {
        const identityId = real.identity(each.email)?.identity_id ?? 'nobody';
        const outcome = await outcomeOf(real.send({ type: 'DeleteIdentity', identityId }));
        expect(outcome).toBe(this.#model.remove(each.email));
        return;
      }
      case 'limit':
        await real.configure({
          session_settings: {
            duration_hours: 1,
            refresh_token_duration_days: 30,
            max_sessions_per_user: each.most,
            single_session_mode: false,
          },
        });
        this.#model.sessionsMax = each.most;
        return;
      case 'pass':
        real.clock.advance(each.minutes * 60_000);
        this.#model.nowMs += each.minutes * 60_000;
        return;
      case 'restart':
        await real.host.reopen();
        return;
    }
  }

  /** Guesses at once: all are compared before any is counted. */
  async #logIn({ days, email: typed, guesses, place: at }: Extract<Step, { do: 'log in' }>): Promise<void> {
    const more = { place: placeOf(at), rememberMe: days === 30 };
    const wasLocked = this.#model.isLocked(typed, at);
    const sent = guesses.map((guess) => real.logIn(typed, guess, more));
    const outcomes: string[] = [];
    const expected: string[] = [];
    for (const [index, each] of sent.entries()) {
      const held = await each.catch(() => undefined);
      outcomes.push(await outcomeOf(each));
      const { sessionId = '', tokenHash = '' } = held ?? {};
      expected.push(this.#model.logIn(typed, guesses[index] as string, at, sessionId, tokenHash, days));
      if (held !== undefined) this.#known.push({ email: typed, first: held, newest: held });
    }
    expect(outcomes).toEqual(expected);
    if (wasLocked) expect(new Set(outcomes)).toEqual(new Set(['ACCOUNT_LOCKED']));
  }

  async #refresh({ isOld, pick: index, times }: Extract<Step, { do: 'refresh' }>): Promise<void> {
    const known = this.#pick(index);
    if (known === undefined) return;
    const held = isOld ? known.first : known.newest;
    const answers = await Promise.all(Array.from({ length: times }, () => real.refresh(held)));
    let winners = 0;
    for (const answer of answers) {
      const next = typeof answer === 'string' ? '' : answer.tokenHash;
      const { generation, sessionId, tokenHash } = held;
      const expected = this.#model.refresh(known.email, sessionId, generation, tokenHash, next);
      expect(typeof answer === 'string' ? answer : 'ok').toBe(expected);
      if (typeof answer === 'string') continue;
      winners += 1;
      known.newest = answer;
    }
    expect(winners).toBeLessThanOrEqual(1);
  }

  async #setPassword(each: Extract<Step, { do: 'set password' }>): Promise<void> {
    const identityId = real.identity(each.email)?.identity_id ?? 'nobody';
    const kept = this.#pick(each.pick)?.first.sessionId;
    const judged = this.#model.accounts.get(each.email.toLowerCase())?.password ?? 'none';
    const sent = real.send({
      type: 'SetPassword',
      identityId,
      judged: hashOf(judged),
      passwordHash: hashOf(each.password),
      place: placeOf(each.place),
      ...(kept === undefined ? {} : { keptSessionId: kept }),
    });
    expect(await outcomeOf(sent)).toBe(this.#model.setPassword(each.email, each.password, each.place, kept));
  }

  #pick(index: number): Known | undefined {
    return this.#known[index % Math.max(1, this.#known.length)];
  }

  /** Compares everything that can be seen. */
  check(): void {
    for (const each of emails) {
      const identity = real.identity(each);
      const account = this.#model.accounts.get(each.toLowerCase());
      expect(identity?.is_active).toBe(account?.isActive);
      if (identity !== undefined) {
        const listed = real.sessions(identity.identity_id).map(({ session_id: id }) => id);
        expect(listed).toEqual(this.#model.listed(each));
      }
      for (const at of ['home', 'work', 'elsewhere']) {
        const found = real.ask<{ retryAfterSeconds: number; passwordHash: string | null }>({
          type: 'FindCredentials',
          email: each,
          place: placeOf(at),
        });
        expect(found.retryAfterSeconds > 0).toBe(this.#model.isLocked(each, at));
        expect(found.passwordHash).toBe(account === undefined ? null : hashOf(account.password));
      }
    }
  }
}

it('accounts, failed logins and sessions do what the model does, through time and restarts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await real.begin();
      actors.push(real.actor);
      const pair = new Pair();
      for (const each of steps) {
        await pair.run(each);
        pair.check();
      }
    }),
    {
      numRuns: workloadCount(100),
      examples: [
        // A session that has expired is not ended by a changed password as well.
        [
          [
            { do: 'register', email: 'ann@example.org', password: 'one', place: 'home' },
            { do: 'pass', minutes: 1_440 },
            { do: 'set password', email: 'ann@example.org', password: 'two', place: 'home', pick: 9 },
            { do: 'revoke', pick: 0 },
            { do: 'refresh', pick: 0, times: 1, isOld: false },
          ],
        ],
      ],
      // A failure is told of with its seed and as far as it is shrunk, instead of running into the time of the test.
      interruptAfterTimeLimit: 30_000,
    },
  );
  // Nothing is left that leads nowhere, or that never ends.
  await real.host.reopen(() => {
    for (const actor of actors) {
      const path = join(real.host.folder, 'actors', actor, 'data.mdb');
      const work = checkShard({
        actor,
        path,
        tableNames: [...commonTableNames, ...identitiesActor.tables],
        lastSequence: undefined,
      });
      let result = work.next();
      while (result.done !== true) result = work.next();
      expect(result.value).toEqual([]);
    }
  });
}, 60_000);

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { countedRow, OTHER_ATTEMPTS_MAX } from '#actors/identities/agenda.ts';
import { IdentitiesTable } from '#actors/identities/identities-tables.ts';
import { PLACES_MAX } from '#actors/identities/login-attempts.ts';
import type { Credentials, FailedLogin } from '#actors/identities/messages.ts';
import { hashOf, IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';

const ann = 'ann@example.org';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let real: IdentitiesFixture;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(async () => {
  await real.begin();
  await real.register(ann);
});

const stranger = { place: placeOf('stranger') };

async function codeOf(email: string, password: string, more = stranger): Promise<string> {
  return await real.logIn(email, password, more).then(
    () => 'ok',
    (error: { code: string }) => error.code,
  );
}

async function codesOf(count: number, email = ann, more = stranger): Promise<readonly string[]> {
  const codes: string[] = [];
  for (let index = 0; index < count; index += 1) codes.push(await codeOf(email, 'wrong', more));
  return codes;
}

const wrong = 'INVALID_CREDENTIALS';
const locked = 'ACCOUNT_LOCKED';

describe('five wrong passwords', () => {
  it('are each answered as wrong, and then even the right one is refused for fifteen minutes', async () => {
    expect(await codesOf(5)).toEqual([wrong, wrong, wrong, wrong, wrong]);
    expect(await codeOf(ann, 'right')).toBe(locked);
    real.clock.advance(15 * MINUTE - 1);
    expect(await codeOf(ann, 'right')).toBe(locked);
    real.clock.advance(1);
    expect(await codeOf(ann, 'right')).toBe('ok');
    expect(await codesOf(5)).toEqual([wrong, wrong, wrong, wrong, wrong]);
  });

  it('lock again after one more, when the lock has ended', async () => {
    await codesOf(5);
    real.clock.advance(15 * MINUTE);
    expect(await codesOf(1)).toEqual([wrong]);
    expect(await codeOf(ann, 'right')).toBe(locked);
  });

  it('are forgotten after a day without another one', async () => {
    await codesOf(5);
    real.clock.advance(DAY + 15 * MINUTE);
    expect(await codesOf(4)).toEqual([wrong, wrong, wrong, wrong]);
    expect(await codeOf(ann, 'right')).toBe('ok');
  });

  it('count one by one when they are sent at once, and the right one among later guesses is refused', async () => {
    const guesses = ['a', 'b', 'c', 'd', 'e', 'f', 'right', 'g'];
    const codes = await Promise.all(guesses.map((guess) => codeOf(ann, guess)));
    expect(codes).toEqual([wrong, wrong, wrong, wrong, wrong, locked, locked, locked]);
  });

  it('lock as the tenant has set it', async () => {
    await real.configure({ rate_limiting: { lockout_threshold: 2, lockout_duration_minutes: 1 } });
    expect(await codesOf(3)).toEqual([wrong, wrong, locked]);
    real.clock.advance(MINUTE);
    expect(await codeOf(ann, 'right')).toBe('ok');
  });

  it('lock nobody longer when the clock was ahead', async () => {
    real.clock.advance(365 * DAY);
    await codesOf(5);
    real.clock.setWall(real.clock.wallMs() - 365 * DAY);
    expect(await codeOf(ann, 'right')).toBe('ok');
  });

  it('say how long the lock lasts', async () => {
    await codesOf(5);
    real.clock.advance(90_000);
    const found = real.ask<Credentials>({ type: 'FindCredentials', email: ann, ...stranger });
    expect(found.retryAfterSeconds).toBe(15 * 60 - 90);
  });
});

describe('a place where the person has logged in before', () => {
  const home = { place: placeOf('home') };

  it('stays open, whatever strangers do', async () => {
    for (let day = 0; day < 3; day += 1) {
      await codesOf(6);
      expect(await codeOf(ann, 'right', home)).toBe('ok');
      // A login there gives strangers no further guesses.
      expect(await codeOf(ann, 'right')).toBe(locked);
      real.clock.advance(16 * MINUTE);
    }
  });

  it('has five guesses of its own', async () => {
    expect(await codesOf(6, ann, home)).toEqual([wrong, wrong, wrong, wrong, wrong, locked]);
    expect(await codeOf(ann, 'right')).toBe('ok');
  });

  it('is one of eight at most: the least recent one is forgotten', async () => {
    for (let index = 0; index < PLACES_MAX; index += 1) {
      real.clock.advance(1_000);
      await real.logIn(ann, 'right', { place: placeOf(`place ${index}`) });
    }
    await codesOf(5);
    expect(await codeOf(ann, 'right', home)).toBe(locked);
    expect(await codeOf(ann, 'right', { place: placeOf('place 0') })).toBe('ok');
  });

  it('is forgotten after 90 days', async () => {
    real.clock.advance(90 * DAY);
    await codesOf(5);
    expect(await codeOf(ann, 'right', home)).toBe(locked);
  });
});

describe('an address without an account', () => {
  const nobody = 'nobody@example.org';

  it('is answered exactly as one with an account', async () => {
    const steps = [() => codesOf(6, nobody), () => codesOf(6, ann)] as const;
    for (let round = 0; round < 3; round += 1) {
      const [unknown, known] = [await steps[0](), await steps[1]()];
      expect(unknown).toEqual(known);
      const [a, b] = [nobody, ann].map(
        (email) => real.ask<Credentials>({ type: 'FindCredentials', email, ...stranger }).retryAfterSeconds,
      );
      expect(a).toBe(b);
      real.clock.advance([15 * MINUTE, DAY + 15 * MINUTE, 0][round] as number);
    }
  });

  it('starts without failures when somebody registers it', async () => {
    await codesOf(5, nobody);
    await real.register(nobody);
    expect(await codeOf(nobody, 'right')).toBe('ok');
  });

  it('is counted in bounded space: the one that ends first makes room', async () => {
    await codesOf(5, 'first@example.org');
    real.clock.advance(1_000);
    await codesOf(5, 'second@example.org');
    await real.importRows([countedRow('other-attempts', OTHER_ATTEMPTS_MAX)]);
    await codesOf(1, nobody);
    expect(await codeOf('first@example.org', 'x')).toBe(wrong);
    expect(await codeOf('second@example.org', 'x')).toBe(locked);
  });

  it('that is none is refused without being counted', async () => {
    expect(await codesOf(7, 'no address')).toEqual(Array.from({ length: 7 }, () => wrong));
  });
});

describe('a password that was changed while another was compared', () => {
  const change = async (): Promise<void> => {
    const identityId = real.identity(ann)?.identity_id as string;
    await real.send({
      type: 'SetPassword',
      identityId,
      judged: hashOf('right'),
      passwordHash: hashOf('new'),
    });
  };

  it('does not let the old one in', async () => {
    await change();
    const proof = { kind: 'password', email: ann, judged: hashOf('right') } as const;
    await expect(real.open(proof)).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('does not count a guess that was compared with the old one', async () => {
    await change();
    const count = { type: 'CountFailedLogin', email: ann, ...stranger } as const;
    for (const judged of [hashOf('right'), null])
      for (let index = 0; index < 6; index += 1)
        expect(await real.send<FailedLogin>({ ...count, judged })).toMatchObject({ outcome: 'changed' });
    expect(await codeOf(ann, 'new')).toBe('ok');
  });

  it('is replaced by a hash with newer parameters only with the login', async () => {
    const proof = { kind: 'password', email: ann, judged: hashOf('right'), rehashed: 'better' } as const;
    await real.open(proof);
    const { passwordHash } = real.ask<Credentials>({ type: 'FindCredentials', email: ann, ...stranger });
    expect(passwordHash).toBe('better');
    await expect(real.open(proof)).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

it('rows of attempts are removed by later ones, a few at a time', async () => {
  for (let index = 0; index < 12; index += 1) await codesOf(1, `user-${index}@example.org`);
  real.clock.advance(2 * DAY);
  // Two for each one that is added.
  for (let index = 0; index < 12; index += 1) await codesOf(1, `later-${index}@example.org`);
  expect(await real.rowsOf(IdentitiesTable.attempts)).toBe(12 + 1);
});

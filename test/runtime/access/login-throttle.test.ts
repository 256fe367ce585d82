import { describe, expect, it } from 'vitest';
import { type LoginNews, LoginThrottle, type LoginTurn } from '#runtime/access/login-throttle.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const place = { freeFailures: 3, firstWaitMs: 1_000, waitMsMax: 4_000, forgetMs: 60_000, entriesMax: 3 };
const wide = { ...place, freeFailures: 50 };
const limits = { ...place, network: wide, account: wide, runningMax: 2 };

class ManualClock implements Clock {
  nowMs = 0;
  wallMs = () => this.nowMs;
  monotonicMs = () => this.nowMs;
  after = systemClock.after;
  soon = systemClock.soon;
}

function attempt(throttle: LoginThrottle, account = 'default/admin', address = '10.0.0.1'): number | 'tried' {
  try {
    throttle.begin(account, address);
    return 'tried';
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ACCOUNT_LOCKED') {
      return error.details?.retry_after_seconds as number;
    }
    throw error;
  }
}

describe('LoginThrottle', () => {
  it('lets some failures go, then makes each wait twice as long, up to a bound', () => {
    const clock = new ManualClock();
    const throttle = new LoginThrottle(clock, limits);
    for (let free = 0; free < 3; free++) expect(attempt(throttle)).toBe('tried');
    for (const seconds of [1, 2, 4, 4]) {
      expect(attempt(throttle)).toBe('tried');
      expect(attempt(throttle)).toBe(seconds);
      clock.nowMs += seconds * 1_000 - 1;
      expect(attempt(throttle)).toBe(1);
      clock.nowMs += 1;
    }
  });

  it('forgives mistakes with a password that is not that of the account any more', () => {
    const throttle = new LoginThrottle(new ManualClock(), { ...limits, account: place });
    for (let failure = 0; failure < 4; failure++) attempt(throttle);
    expect(attempt(throttle)).toBe(1);
    throttle.renewed('default/admin', '10.0.0.1');
    expect(attempt(throttle)).toBe('tried');
    expect(attempt(throttle, 'default/admin', '10.0.0.2')).toBe('tried');
  });

  it('forgives after a success and after a time of peace', () => {
    const clock = new ManualClock();
    const throttle = new LoginThrottle(clock, limits);
    for (let failure = 0; failure < 4; failure++) attempt(throttle);
    expect(attempt(throttle)).toBe(1);
    throttle.succeeded('default/admin', '10.0.0.1');
    for (let free = 0; free < 4; free++) expect(attempt(throttle)).toBe('tried');
    clock.nowMs += limits.forgetMs + 1;
    for (let free = 0; free < 4; free++) expect(attempt(throttle)).toBe('tried');
  });

  it('counts attempts at other members, and resets after a success there, without sending names and addresses', () => {
    const heard: ((place: string, turn: LoginTurn) => void)[] = [];
    const told: string[] = [];
    const newsOf = (self: number): LoginNews => ({
      tell(place, turn) {
        told.push(place);
        for (const [member, hear] of heard.entries()) if (member !== self) hear(place, turn);
      },
      listen: (hear) => void heard.push(hear),
    });
    const clock = new ManualClock();
    const members = [0, 1, 2].map((self) => new LoginThrottle(clock, limits, newsOf(self)));
    const [first, second, third] = members as [LoginThrottle, LoginThrottle, LoginThrottle];
    for (const throttle of [first, second, third, first]) expect(attempt(throttle)).toBe('tried');
    for (const throttle of members) expect(attempt(throttle)).toBe(1);
    expect(attempt(second, 'other/admin')).toBe('tried');
    clock.nowMs += 1_000;
    expect(attempt(second)).toBe('tried');
    for (const throttle of members) expect(attempt(throttle)).toBe(2);
    clock.nowMs += 2_000;
    expect(attempt(third)).toBe('tried');
    expect(attempt(first)).toBe(4);
    // Nothing could be read: as if it had not been tried.
    third.unjudged('default/admin', '10.0.0.1');
    expect(attempt(first)).toBe('tried');
    for (const throttle of members) expect(attempt(throttle)).toBe(4);
    third.succeeded('default/admin', '10.0.0.1');
    for (const throttle of members) expect(attempt(throttle)).toBe('tried');
    expect(told.join(' ')).not.toMatch(/admin|10\.0\.0/);
  });

  it('blocks neither another address nor another account', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    for (let failure = 0; failure < 5; failure++) attempt(throttle);
    expect(attempt(throttle)).toBe(1);
    expect(attempt(throttle, 'default/admin', '10.0.0.2')).toBe('tried');
    expect(attempt(throttle, 'other/admin')).toBe('tried');
  });

  it('counts attempts made side by side before any of them has failed', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    const results = Array.from({ length: 10 }, () => attempt(throttle));
    expect(results.filter((result) => result === 'tried')).toHaveLength(4);
  });

  it('remembers a bounded number of names, and unknown names do not evict one that is throttled', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    for (let failure = 0; failure < 5; failure++) attempt(throttle, 'default/first');
    for (let name = 0; name < 40; name++)
      expect(attempt(throttle, `default/nobody-${name}`, `10.0.${name}.1`)).toBe('tried');
    expect(attempt(throttle, 'default/first')).toBe(1);
    // Of those that wait the oldest is forgotten first: its author has had many more attempts to pay for.
    for (const other of ['a', 'b', 'c'])
      for (let failure = 0; failure < 5; failure++) attempt(throttle, other);
    expect(attempt(throttle, 'default/first')).toBe('tried');
  });

  it('holds an address up that tries one name after the other, and no other address', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    for (let name = 0; name < 51; name++) expect(attempt(throttle, `default/name-${name}`)).toBe('tried');
    expect(attempt(throttle, 'default/name-51')).toBe(1);
    expect(attempt(throttle, 'default/name-51', '10.0.0.2')).toBe('tried');
  });

  it('holds nobody up who has logged in from there before, except for the own failures', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    expect(attempt(throttle)).toBe('tried');
    throttle.succeeded('default/admin', '10.0.0.1');
    for (let name = 0; name < 51; name++) attempt(throttle, `default/name-${name}`);
    expect(attempt(throttle, 'default/other')).toBe(1);
    for (let failure = 0; failure < 4; failure++) expect(attempt(throttle)).toBe('tried');
    expect(attempt(throttle)).toBe(1);
  });

  it('gives others no attempt for the login of somebody who is not held up', () => {
    const clock = new ManualClock();
    const throttle = new LoginThrottle(clock, limits);
    expect(attempt(throttle)).toBe('tried');
    throttle.succeeded('default/admin', '10.0.0.1');
    for (let name = 0; name < 54; name++) attempt(throttle, `default/name-${name}`);
    clock.nowMs += 1_000;
    for (let name = 0; name < 3; name++) {
      expect(attempt(throttle, `default/other-${name}`)).toBe('tried');
      expect(attempt(throttle, `default/more-${name}`)).toBeGreaterThan(1);
      for (let login = 0; login < 3; login++) {
        expect(attempt(throttle)).toBe('tried');
        throttle.succeeded('default/admin', '10.0.0.1');
        expect(attempt(throttle, `default/more-${name}`)).toBeGreaterThan(1);
      }
      clock.nowMs += 4_000;
    }
  });

  it('counts what people do apart from what administrators do, and registrations apart from guesses', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    for (let guess = 0; guess < 51; guess++) throttle.guesses.count('10.0.0.1');
    expect(throttle.guesses.waitMs('10.0.0.1')).toBe(1_000);
    expect(throttle.registrations.waitMs('10.0.0.1')).toBe(0);
    expect(attempt(throttle)).toBe('tried');
  });

  it('delays an account that many addresses try, except at addresses with an earlier login', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    attempt(throttle, 'default/admin', 'at home');
    throttle.succeeded('default/admin', 'at home');
    for (let address = 0; address < 51; address++)
      expect(attempt(throttle, 'default/admin', `10.1.${address}.1`)).toBe('tried');
    expect(attempt(throttle, 'default/admin', '10.2.0.1')).toBe(1);
    expect(attempt(throttle, 'default/admin', 'at home')).toBe('tried');
    expect(attempt(throttle, 'default/other', '10.2.0.1')).toBe('tried');
  });

  it('counts all addresses of a network of version 6 as one', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    for (let host = 1; host <= 4; host++)
      expect(attempt(throttle, 'default/admin', `2001:db8:1:2::${host}`)).toBe('tried');
    expect(attempt(throttle, 'default/admin', '2001:db8:1:2:ffff::1')).toBe(1);
    expect(attempt(throttle, 'default/admin', '2001:db8:1:3::1')).toBe('tried');
  });

  it('takes back what was not judged everywhere', () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    for (let round = 0; round < 200; round++) {
      expect(attempt(throttle)).toBe('tried');
      throttle.unjudged('default/admin', '10.0.0.1');
    }
  });

  it('lets an address compare a few passwords at once, and others beside it', async () => {
    const throttle = new LoginThrottle(new ManualClock(), limits);
    const open = Promise.withResolvers<void>();
    const works = [0, 1].map(() => throttle.inTurn('10.0.0.1', () => open.promise));
    await expect(throttle.inTurn('10.0.0.1', () => open.promise)).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      details: { retry_after_seconds: 1 },
    });
    const other = throttle.inTurn('10.0.0.2', () => open.promise);
    open.resolve();
    await Promise.all([...works, other]);
    await throttle.inTurn('10.0.0.1', async () => undefined);
  });
});

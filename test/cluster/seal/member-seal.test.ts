import { describe, expect, it } from 'vitest';
import { ClusterKeys, keyPurposes } from '#cluster/seal/cluster-keys.ts';
import { SEALED_MS_MAX, type CallerSeal, type MemberSeal } from '#cluster/seal/member-seal.ts';
import { ReplayGuard } from '#cluster/seal/replay-guard.ts';
import { hearPulse, testLogSeal, testMasterKey, testSeal } from '#test/support/member-seals.ts';
import { TestClock } from '#test/support/test-clock.ts';

const message = Buffer.from('{"kind":"command"}');

/** A caller and an owner that have heard each other. */
function pair(options: Parameters<typeof testSeal>[1] = {}) {
  const caller = testSeal('m1', options);
  const owner = testSeal('m2', options);
  hearPulse(caller.seal, owner.seal);
  const callTo = (): CallerSeal => caller.seal.callTo('m2') as CallerSeal;
  return { caller, owner, callTo };
}

const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString();

/** Every way to change one bit. */
function* bitFlips(bytes: Uint8Array): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length * 8; at++) {
    const changed = Buffer.from(bytes);
    changed[at >> 3] = (changed[at >> 3] as number) ^ (1 << (at & 7));
    yield changed;
  }
}

describe('a sealed call', () => {
  it('delivers its message to its receiver', () => {
    const { callTo, owner } = pair();
    const sealed = callTo().seal('inbox.1', message);
    expect(textOf(owner.seal.openCall('m2', 'inbox.1', sealed)?.message)).toBe(message.toString());
    expect(owner.refused).toEqual([]);
  });

  it('cannot be addressed to a member that was not heard, or not recently', () => {
    const clock = new TestClock();
    const { caller } = pair({ clock });
    expect(caller.seal.callTo('m3')).toBeUndefined();
    expect(caller.seal.callTo('m2')).toBeDefined();
    clock.advance(30_001);
    expect(caller.seal.callTo('m2')).toBeUndefined();
  });

  it('is taken once', () => {
    const { callTo, owner } = pair();
    const sealed = callTo().seal('inbox.1', message);
    expect(owner.seal.openCall('m2', 'inbox.1', sealed)).toBeDefined();
    expect(owner.seal.openCall('m2', 'inbox.1', sealed)).toBeUndefined();
    expect(owner.refused).toEqual(['call replayed m1']);
  });

  it('is refused by another member, on another subject, and by another process of its receiver', () => {
    const { callTo, owner } = pair();
    const sealed = callTo().seal('inbox.1', message);
    expect(owner.seal.openCall('m3', 'inbox.1', sealed)).toBeUndefined();
    expect(owner.seal.openCall('m2', 'inbox.2', sealed)).toBeUndefined();
    const reborn = testSeal('m2');
    expect(reborn.seal.openCall('m2', 'inbox.1', sealed)).toBeUndefined();
    expect(reborn.refused).toEqual(['call misdirected m1']);
    expect(owner.refused).toEqual(['call forged m1']);
  });

  it('is refused later, by the clock of its receiver alone', () => {
    const clock = new TestClock();
    const { callTo, owner } = pair({ clock });
    const [first, second] = [callTo().seal('inbox.1', message), callTo().seal('inbox.2', message)];
    clock.advance(SEALED_MS_MAX - 10);
    expect(owner.seal.openCall('m2', 'inbox.1', first)).toBeDefined();
    clock.advance(20);
    expect(owner.seal.openCall('m2', 'inbox.2', second)).toBeUndefined();
    expect(owner.refused).toEqual(['call late m1']);
  });

  it('is accepted although the clocks of sender and receiver differ', () => {
    const [ahead, behind] = [new TestClock(), new TestClock()];
    ahead.advance(10 * 365 * 86_400_000);
    const caller = testSeal('m1', { clock: ahead });
    const owner = testSeal('m2', { clock: behind });
    hearPulse(caller.seal, owner.seal);
    ahead.advance(5_000);
    behind.advance(5_000);
    const sealed = (caller.seal.callTo('m2') as CallerSeal).seal('inbox.1', message);
    expect(owner.seal.openCall('m2', 'inbox.1', sealed)).toBeDefined();
  });

  it('is refused with any bit changed, cut at any byte, and with another key', () => {
    const { callTo, owner } = pair();
    const sealed = callTo().seal('inbox.1', message);
    for (const changed of bitFlips(sealed))
      expect(owner.seal.openCall('m2', 'inbox.1', changed)).toBeUndefined();
    for (let end = 0; end < sealed.length; end++)
      expect(owner.seal.openCall('m2', 'inbox.1', sealed.subarray(0, end))).toBeUndefined();
    const foreign = pair({ masterKey: new Uint8Array(32).fill(8) });
    hearPulse(foreign.caller.seal, foreign.owner.seal);
    const forged = foreign.callTo().seal('inbox.1', message);
    expect(owner.seal.openCall('m2', 'inbox.1', forged)).toBeUndefined();
    // And still takes the genuine one: nothing that was refused has used up its number.
    expect(owner.seal.openCall('m2', 'inbox.1', sealed)).toBeDefined();
  });

  it('is asked for: one that is not sealed is refused, unless an upgrade is under way', () => {
    const { owner } = pair();
    expect(owner.seal.openCall('m2', 'inbox.1', message)).toBeUndefined();
    expect(owner.refused).toEqual(['call unsigned nobody']);
    const lenient = testSeal('m2', { acceptsUnsigned: true });
    expect(textOf(lenient.seal.openCall('m2', 'inbox.1', message)?.message)).toBe(message.toString());
    const call = lenient.seal.callTo('m3') as CallerSeal;
    expect([textOf(call.seal('inbox.1', message)), textOf(call.open('inbox.1', 'c', message))]).toEqual([
      message.toString(),
      message.toString(),
    ]);
    // What is sealed is for somebody else: nobody asked with a seal here.
    const sealed = pair().callTo().seal('inbox.1', message);
    expect(call.open('inbox.1', 'c', sealed)).toBeUndefined();
  });
});

describe('an answer', () => {
  const frame = Buffer.from('answer');

  function answered() {
    const made = pair();
    const call = made.callTo();
    const opened = made.owner.seal.openCall('m2', 'inbox.1', call.seal('inbox.1', message));
    const answers = opened?.answers as NonNullable<typeof opened>['answers'];
    return { ...made, call, answers };
  }

  it('is taken from the member that was asked, in order, each once', () => {
    const { answers, call, caller } = answered();
    const [one, two, three] = ['a', 'b', 'c'].map((text) =>
      answers.seal('inbox.1', 'control.1', Buffer.from(text)),
    );
    expect(textOf(call.open('inbox.1', 'control.1', one as Uint8Array))).toBe('a');
    expect(call.open('inbox.1', 'control.1', one as Uint8Array)).toBeUndefined();
    expect(textOf(call.open('inbox.1', 'control.1', three as Uint8Array))).toBe('c');
    expect(call.open('inbox.1', 'control.1', two as Uint8Array)).toBeUndefined();
    expect(caller.refused).toEqual(['answer replayed m2']);
  });

  it('is refused for another call, another caller, or with another control subject', () => {
    const { answers, call, caller, owner } = answered();
    const sealed = answers.seal('inbox.1', 'control.1', frame);
    expect(call.open('inbox.2', 'control.1', sealed)).toBeUndefined();
    expect(call.open('inbox.1', 'grove.log.000', sealed)).toBeUndefined();
    expect(call.open('inbox.1', undefined, sealed)).toBeUndefined();
    const other = testSeal('m1');
    hearPulse(other.seal, owner.seal);
    expect((other.seal.callTo('m2') as CallerSeal).open('inbox.1', 'control.1', sealed)).toBeUndefined();
    expect(caller.refused).toEqual(['answer forged m2']);
    expect(textOf(call.open('inbox.1', 'control.1', sealed))).toBe('answer');
  });

  it('is refused from another member, although that one has the key', () => {
    const { call, caller } = answered();
    const other = testSeal('m3');
    hearPulse(caller.seal, other.seal);
    const toOther = caller.seal.callTo('m3') as CallerSeal;
    const opened = other.seal.openCall('m3', 'inbox.1', toOther.seal('inbox.1', message));
    const sealed = opened?.answers.seal('inbox.1', 'control.1', frame) as Uint8Array;
    expect(call.open('inbox.1', 'control.1', sealed)).toBeUndefined();
    expect(textOf(toOther.open('inbox.1', 'control.1', sealed))).toBe('answer');
  });

  it('is refused with any bit changed, and without a seal', () => {
    const { answers, call } = answered();
    const sealed = answers.seal('inbox.1', 'control.1', frame);
    for (const changed of bitFlips(sealed))
      expect(call.open('inbox.1', 'control.1', changed)).toBeUndefined();
    expect(call.open('inbox.1', 'control.1', frame)).toBeUndefined();
    expect(textOf(call.open('inbox.1', 'control.1', sealed))).toBe('answer');
  });

  it('that no caller waits for is declined to a member, and nothing is sent to others', () => {
    const { answers, caller, owner } = answered();
    const sealed = answers.seal('inbox.9', 'control.1', frame);
    const opened = caller.seal.openAny('inbox.9', 'control.1', sealed);
    expect(answers.openControl('control.1', opened?.sealControl('-') as Uint8Array)).toBe('-');
    expect(caller.seal.openAny('inbox.9', 'grove.log.000', sealed)).toBeUndefined();
    expect(caller.seal.openAny('inbox.9', 'control.1', frame)).toBeUndefined();
    expect(owner.refused).toEqual([]);
  });

  it('is taken back by its caller alone', () => {
    const { answers, call, owner } = answered();
    const said = call.sealControl('control.1', '+7') as Uint8Array;
    expect(answers.openControl('control.1', said)).toBe('+7');
    expect(answers.openControl('control.2', said)).toBeUndefined();
    expect(answers.openControl('control.1', Buffer.from('-'))).toBeUndefined();
    for (const changed of bitFlips(said)) expect(answers.openControl('control.1', changed)).toBeUndefined();
    expect(owner.refused).toContain('message unsigned nobody');
  });
});

describe('a broadcast to all members', () => {
  const data = Buffer.from('{"member":"m1","epoch":7}');
  const news = (seal: MemberSeal, replyTo = '') => ({
    subject: 'grove.flushed.000',
    replyTo,
    data,
    seal: seal.sealNews('grove.flushed.000', replyTo, data),
  });

  it('is heard once by each that listens', () => {
    const [from, to] = [testSeal('m1'), testSeal('m2')];
    const [guard, other] = [new ReplayGuard(), new ReplayGuard()];
    const told = news(from.seal);
    expect(to.seal.openNews(told, guard)).toMatchObject({ name: 'm1', number: 1 });
    expect(to.seal.openNews(told, guard)).toBeUndefined();
    expect(to.seal.openNews(told, other)).toBeDefined();
    expect(to.refused).toEqual(['message replayed m1']);
  });

  it('is attributed to no member whose name begins or ends with that of its sender', () => {
    const [from, to] = [testSeal('m1'), testSeal('m2')];
    const told = news(from.seal);
    const bytes = Buffer.from(told.seal, 'base64url');
    const letter = data.subarray(0, 1);
    const longer = { data: data.subarray(1), seal: Buffer.concat([bytes, letter]).toString('base64url') };
    const rest = Buffer.concat([bytes.subarray(-1), data]);
    const shorter = { data: rest, seal: bytes.subarray(0, -1).toString('base64url') };
    for (const changed of [longer, shorter])
      expect(to.seal.openNews({ ...told, ...changed }, new ReplayGuard())).toBeUndefined();
    // The end of the name as the beginning of what is told: the same bytes one after the other.
    const seal = Buffer.from(told.seal, 'base64url');
    const shifted = {
      seal: seal.subarray(0, -1).toString('base64url'),
      data: Buffer.concat([seal.subarray(-1), told.data]),
    };
    expect(to.seal.openNews({ ...told, ...shifted }, new ReplayGuard())).toBeUndefined();
    expect(to.seal.openNews(told, new ReplayGuard())).toMatchObject({ name: 'm1' });
  });

  it('is refused on another subject, with another reply subject, changed, or with another key', () => {
    const [from, to, foreign] = [
      testSeal('m1'),
      testSeal('m2'),
      testSeal('m1', { masterKey: new Uint8Array(32).fill(8) }),
    ];
    const guard = new ReplayGuard();
    const told = news(from.seal, 'inbox.1');
    const seal = Buffer.from(told.seal, 'base64url');
    for (const wrong of [
      { ...told, subject: 'grove.flushed.001' },
      { ...told, replyTo: 'grove.log.000' },
      { ...told, data: Buffer.from('{"member":"m1","epoch":8}') },
      { ...told, seal: undefined },
      { ...told, seal: 'x' },
      { ...told, seal: '' },
      ...[...bitFlips(seal)].map((changed) => ({ ...told, seal: changed.toString('base64url') })),
      news(foreign.seal, 'inbox.1'),
    ])
      expect(to.seal.openNews(wrong, guard)).toBeUndefined();
    expect(to.seal.openNews(told, guard)).toBeDefined();
  });

  it('is answered at the place that was named, and an answer is no news', () => {
    const [from, to] = [testSeal('m1'), testSeal('m2')];
    const reply = { subject: 'inbox.1', replyTo: '', data, seal: from.seal.sealReply('inbox.1', data) };
    expect(to.seal.opensReply(reply)).toBe(true);
    expect(to.seal.opensReply({ ...reply, subject: 'inbox.2' })).toBe(false);
    expect(to.seal.opensReply({ ...reply, data: Buffer.from('{}') })).toBe(false);
    expect(to.seal.openNews(reply, new ReplayGuard())).toBeUndefined();
    expect(to.seal.opensReply({ ...news(from.seal) })).toBe(false);
  });

  it('is heard without a seal while an upgrade is under way', () => {
    const to = testSeal('m2', { acceptsUnsigned: true });
    const told = { ...news(testSeal('m1').seal), seal: undefined };
    expect(to.seal.openNews(told, new ReplayGuard())).toMatchObject({ life: undefined });
    expect(to.seal.opensReply(told)).toBe(true);
    // One that is there and wrong is refused all the same.
    expect(to.seal.openNews({ ...told, seal: 'AAAA' }, new ReplayGuard())).toBeUndefined();
  });

  it('announces that a member no longer seals and has to be called without a seal', () => {
    const { caller } = pair({ acceptsUnsigned: true });
    expect(textOf(caller.seal.callTo('m2')?.seal('inbox.1', message))).not.toBe(message.toString());
    caller.seal.forget('m2');
    expect(textOf(caller.seal.callTo('m2')?.seal('inbox.1', message))).toBe(message.toString());
  });
});

describe('members of which some have the new master key, and all have both', () => {
  const other = new Uint8Array(32).fill(8);
  const early = { masterKey: testMasterKey, previous: other };
  const late = { masterKey: other, previous: testMasterKey };

  it.each([
    ['first', early, late],
    ['last', late, early],
  ] as const)('take everything of each other: the one that asks is restarted %s', (_, asking, answering) => {
    const [caller, owner] = [testSeal('m1', asking), testSeal('m2', answering)];
    hearPulse(caller.seal, owner.seal);
    const call = caller.seal.callTo('m2') as CallerSeal;
    const opened = owner.seal.openCall('m2', 'inbox.1', call.seal('inbox.1', message));
    expect(textOf(opened?.message)).toBe(message.toString());
    const frame = opened?.answers.seal('inbox.1', 'control.1', Buffer.from('answer')) as Uint8Array;
    expect(textOf(call.open('inbox.1', 'control.1', frame))).toBe('answer');
    const control = Buffer.from(call.sealControl('control.1', 'received'));
    expect(opened?.answers.openControl('control.1', control)).toBe('received');
    const seal = owner.seal.sealReply('inbox.2', message);
    expect(caller.seal.opensReply({ subject: 'inbox.2', replyTo: '', data: message, seal })).toBe(true);
    expect([caller.refused, owner.refused]).toEqual([[], []]);
    const stored = testLogSeal(answering).seal('log', 7, message);
    expect(testLogSeal(asking).isGenuine('log', 7, message, stored)).toBe(true);
    expect(testLogSeal(asking).isGenuine('log', 8, message, stored)).toBe(false);
  });

  it('are refused by a member that has only one of the keys', () => {
    const [caller, owner] = [testSeal('m1', late), testSeal('m2', { masterKey: testMasterKey })];
    const seal = caller.seal.sealReply('inbox.2', message);
    expect(owner.seal.opensReply({ subject: 'inbox.2', replyTo: '', data: message, seal })).toBe(false);
    expect(owner.refused).toEqual(['message forged m1']);
  });
});

describe('the keys of a cluster', () => {
  it('are one for each purpose, and others in another cluster or with another master key', () => {
    const seals = [
      ...keyPurposes.map((purpose) => new ClusterKeys(testMasterKey, 'a').seal(purpose, 'x')),
      new ClusterKeys(testMasterKey, 'b').seal('calls', 'x'),
      new ClusterKeys(new Uint8Array(32), 'a').seal('calls', 'x'),
    ].map((seal) => seal.toString('hex'));
    expect(new Set(seals).size).toBe(seals.length);
  });

  it('are those of two master keys while one replaces the other, and only the present one seals', () => {
    const [one, two] = [testMasterKey, new Uint8Array(32).fill(8)];
    const [old, rotated, fresh] = [
      new ClusterKeys(one, 'a'),
      new ClusterKeys(two, 'a', one),
      new ClusterKeys(two, 'a'),
    ];
    const part = Buffer.from('part');
    expect(rotated.holds('calls', old.seal('calls', 'x', part), 'x', part)).toBe(true);
    expect(rotated.holds('calls', fresh.seal('calls', 'x', part), 'x', part)).toBe(true);
    expect(fresh.holds('calls', rotated.seal('calls', 'x', part), 'x', part)).toBe(true);
    expect(old.holds('calls', rotated.seal('calls', 'x', part), 'x', part)).toBe(false);
    // The previous key opens nothing else: neither another purpose, nor another context.
    expect(rotated.holds('news', old.seal('calls', 'x', part), 'x', part)).toBe(false);
    expect(rotated.holds('calls', old.seal('calls', 'x', part), 'y', part)).toBe(false);
    const other = new ClusterKeys(new Uint8Array(32).fill(9), 'a');
    expect(rotated.holds('calls', other.seal('calls', 'x', part), 'x', part)).toBe(false);
  });

  it('stay what they are: members of two versions have to agree', () => {
    const keys = new ClusterKeys(new Uint8Array(32).fill(1), 'grove');
    expect(keys.seal('calls', 'context', Buffer.from('part')).toString('hex')).toMatchInlineSnapshot(
      `"3269903a4b23e9cdd6eb442ad584c4e8"`,
    );
  });
});

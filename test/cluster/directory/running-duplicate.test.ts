import { describe, expect, it } from 'vitest';
import { type Heartbeat, HEARTBEAT_FORMAT } from '#cluster/directory/heartbeat.ts';
import { runningDuplicate } from '#cluster/directory/running-duplicate.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const said: Heartbeat = {
  format: HEARTBEAT_FORMAT,
  member: 'm1',
  incarnation: 'before',
  beat: 7,
  url: 'http://m1:8080',
  version: '1.2.3',
  formats: { records: 1, calls: 1 },
  load: { requestsInFlight: 0, openActors: 0, pendingBytes: 0 },
  owned: [],
  handovers: [],
  warm: [],
  resting: [],
  isDraining: false,
  isLeaving: false,
};

/** Looks for `m1`, with a heartbeat a second. */
function looking() {
  const clock = new TestClock();
  const heard: string[] = [];
  let hear: (heartbeat: Heartbeat) => void = () => {};
  let sinceMs: number | undefined = clock.monotonicMs();
  let outcome: { readonly url: string | undefined } | undefined;
  void runningDuplicate({
    channel: {
      listen(ear) {
        hear = ear;
        return () => {
          hear = () => {};
        };
      },
      reception: () => ({
        get sinceMs() {
          return sinceMs;
        },
        stop: () => {},
      }),
    },
    member: 'm1',
    clock,
    heartbeatMs: 1_000,
    onAlive: (url) => void heard.push(url),
  }).then((url) => {
    outcome = { url };
  });
  const tell = (changed: Partial<Heartbeat> = {}): void => hear({ ...said, ...changed });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      await settle();
    }
  };
  const deafen = (): void => {
    sinceMs = undefined;
  };
  const restore = (): void => {
    sinceMs = clock.monotonicMs();
  };
  return { deafen, heard, pass, restore, tell, outcome: () => outcome };
}

describe('the name of a member that starts', () => {
  it('is its own when no other process of that name is heard for a heartbeat and a half', async () => {
    const { heard, outcome, pass, tell } = looking();
    tell({ member: 'm2' });
    await pass(1_400);
    expect(outcome()).toBeUndefined();
    tell({ member: 'm2', beat: 8 });
    await pass(200);
    expect([outcome(), heard]).toEqual([{ url: undefined }, []]);
  });

  it('is that of another process whose heartbeats continue', async () => {
    const { heard, outcome, pass, tell } = looking();
    await pass(1_300);
    for (const beat of [7, 8, 9]) {
      expect(outcome()).toBeUndefined();
      tell({ beat });
      await pass(1_000);
    }
    expect([outcome(), heard]).toEqual([{ url: said.url }, [said.url]]);
  });

  it('is its own after a process that just ended, even if its messages arrive late', async () => {
    const { heard, outcome, pass, tell } = looking();
    tell();
    tell({ beat: 8 });
    await pass(2_000);
    // What was said before comes again, and one life after the other ends.
    tell({ beat: 8 });
    tell({ incarnation: 'in between', beat: 1 });
    await pass(2_400);
    expect(outcome()).toBeUndefined();
    await pass(200);
    expect([outcome(), heard]).toEqual([{ url: undefined }, [said.url]]);
  });

  it('is its own at once when the previous process announces that it leaves', async () => {
    const { outcome, pass, tell } = looking();
    tell();
    await pass(1_400);
    tell({ beat: 8, isLeaving: true });
    await pass(200);
    expect(outcome()).toEqual({ url: undefined });
  });

  it('is not its own because of silence without a connection, or right after it', async () => {
    const { deafen, outcome, pass, restore } = looking();
    await pass(1_400);
    deafen();
    await pass(60_000);
    restore();
    await pass(1_400);
    expect(outcome()).toBeUndefined();
    await pass(200);
    expect(outcome()).toEqual({ url: undefined });
  });

  it('is that of another one that was heard before the connection was lost', async () => {
    const { deafen, outcome, pass, restore, tell } = looking();
    tell();
    deafen();
    await pass(60_000);
    restore();
    await pass(2_400);
    expect(outcome()).toBeUndefined();
    tell({ beat: 60 });
    await pass(100);
    expect(outcome()).toEqual({ url: said.url });
  });
});

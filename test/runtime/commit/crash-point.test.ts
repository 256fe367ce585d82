import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { InvariantError } from '#runtime/base/assert.ts';
import {
  armCrashPoint,
  armCrashPointFromText,
  type CrashPointName,
  crashPoint,
} from '#runtime/commit/crash-point.ts';
import { OptionError } from '#runtime/config/option.ts';

const cleanups: Array<() => void> = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function arm(name: CrashPointName, hit: number): { acted: () => number; disarm: () => void } {
  let times = 0;
  const disarm = armCrashPoint(name, hit, () => {
    times += 1;
  });
  cleanups.push(disarm);
  return { acted: () => times, disarm };
}

describe('a crash point', () => {
  it('does nothing unless it is armed', () => {
    const { acted } = arm('mid-apply', 1);
    crashPoint('before-append');
    expect(acted()).toBe(0);
  });

  it('acts at the pass it is armed for, and once', () => {
    const { acted } = arm('after-durable', 3);
    crashPoint('after-durable');
    crashPoint('after-durable');
    expect(acted()).toBe(0);
    crashPoint('after-durable');
    expect(acted()).toBe(1);
    crashPoint('after-durable');
    expect(acted()).toBe(1);
  });

  it('lets the action throw, and is disarmed by then', () => {
    armCrashPoint('before-reply', 1, () => {
      throw new RangeError('crash');
    });
    expect(() => crashPoint('before-reply')).toThrow('crash');
    expect(() => crashPoint('before-reply')).not.toThrow();
  });

  it('is disarmed by what arming returned, without touching a later one', () => {
    const first = arm('after-apply', 1);
    first.disarm();
    const second = arm('after-apply', 1);
    first.disarm();
    crashPoint('after-apply');
    expect([first.acted(), second.acted()]).toEqual([0, 1]);
  });

  it('can be armed together with others', () => {
    const one = arm('before-append', 1);
    const two = arm('after-append-sent', 2);
    crashPoint('after-append-sent');
    crashPoint('before-append');
    crashPoint('after-append-sent');
    expect([one.acted(), two.acted()]).toEqual([1, 1]);
  });

  it('cannot be armed twice, or for a pass that never happens', () => {
    arm('in-recovery', 1);
    expect(() => armCrashPoint('in-recovery', 1)).toThrow(InvariantError);
    expect(() => armCrashPoint('in-open', 0)).toThrow(InvariantError);
  });
});

describe('SVC_CRASH_POINT', () => {
  it.each(['nowhere:1', 'mid-apply', 'mid-apply:', 'mid-apply:0', 'mid-apply:x', 'mid-apply:1:2'])(
    'refuses %s, because a test that kills nothing must not pass',
    (text) => {
      const refusal = `SVC_CRASH_POINT '${text}' is not <name>:<hit>`;
      expect(() => armCrashPointFromText(text)).toThrow(refusal);
      expect(() => armCrashPointFromText(text)).toThrow(OptionError);
    },
  );

  it.each([undefined, ''])('arms nothing when it is %j', (text) => {
    expect(() => armCrashPointFromText(text)).not.toThrow();
  });

  it('kills the process at the pass it names, before anything after it', () => {
    const script = `
      import { writeSync } from 'node:fs';
      import { armCrashPointFromText, crashPoint } from '#runtime/commit/crash-point.ts';
      armCrashPointFromText(process.env.SVC_CRASH_POINT);
      for (let pass = 1; pass <= 5; pass += 1) {
        writeSync(1, 'reached ' + pass + ';');
        crashPoint('before-segment-removal');
        writeSync(1, 'survived ' + pass + ';');
      }
    `;
    const run = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', script], {
      cwd: join(import.meta.dirname, '..', '..', '..'),
      env: { ...process.env, SVC_CRASH_POINT: 'before-segment-removal:2' },
      encoding: 'utf8',
    });
    expect(run.signal).toBe('SIGKILL');
    expect(run.stdout).toBe('reached 1;survived 1;reached 2;');
  });
});

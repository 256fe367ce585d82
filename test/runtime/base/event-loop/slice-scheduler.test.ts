import { beforeEach, describe, expect, it } from 'vitest';
import {
  type SliceClass,
  type SlicedWork,
  SliceScheduler,
  TURN_MS,
} from '#runtime/base/event-loop/slice-scheduler.ts';
import { TurnClock } from '#test/support/turn-clock.ts';

/** What one step of a work takes, in milliseconds. */
const STEP_MS = 0.05;

let clock: TurnClock;
let slices: SliceScheduler;

beforeEach(() => {
  clock = new TurnClock();
  slices = new SliceScheduler(clock);
});

/** A loop over many steps. */
class Job {
  done = false;
  error: unknown;
  /** Steps so far. */
  steps = 0;
  /** Slices after the first. */
  slices = 0;
  /** Turn in which it ended. */
  endedIn = -1;
  /** Nobody waits for it any more. */
  abandoned: Error | undefined;
  readonly work: SlicedWork;
  readonly #stepMs: number;

  constructor(kind: SliceClass, key: string, stepMs = STEP_MS) {
    this.#stepMs = stepMs;
    const requireWaiting = (): void => {
      if (this.abandoned !== undefined) throw this.abandoned;
    };
    this.work = slices.begin(kind, { sliceKey: key, requireWaiting });
  }

  start(steps: number): this {
    this.#run(steps).then(
      () => {
        this.done = true;
        this.endedIn = clock.turnsMs.length;
      },
      (error: unknown) => {
        this.error = error;
      },
    );
    return this;
  }

  async #run(steps: number): Promise<void> {
    while (this.steps < steps) {
      clock.work(this.#stepMs);
      this.steps += 1;
      const wait = this.work.pause();
      if (wait === undefined) continue;
      this.slices += 1;
      await wait;
    }
  }
}

async function turns(count: number, arriving?: () => void): Promise<void> {
  for (let turn = 0; turn < count; turn++) await clock.turn(arriving);
}

/** All have begun: the turn in which they did is over. */
async function started(jobs: () => Job[]): Promise<Job[]> {
  let all: Job[] = [];
  await clock.turn(() => {
    all = jobs();
  });
  return all;
}

describe('one turn of the event loop', () => {
  it('holds 8 ms of sliced work, however many works there are', async () => {
    await started(() => Array.from({ length: 20 }, () => new Job('read', 'a').start(100_000)));
    clock.turnsMs.length = 0;
    await turns(100);
    expect(Math.max(...clock.turnsMs)).toBeLessThanOrEqual(TURN_MS + STEP_MS);
    // And the loop gives nothing away but the turn in which the first slice is handed out.
    expect(clock.turnsMs.slice(2).every((ms) => ms >= TURN_MS)).toBe(true);
  });

  it('counts new work together with continued work', async () => {
    await started(() => [new Job('read', 'a').start(100_000)]);
    await turns(3);
    clock.turnsMs.length = 0;
    await turns(20, () => new Job('read', 'b').start(100_000));
    // A new one has a first millisecond, which it would have had without this.
    expect(Math.max(...clock.turnsMs)).toBeLessThanOrEqual(TURN_MS + 1 + 3 * STEP_MS);
  });

  it('is not ended for what is short', async () => {
    const [first, second] = await started(() => [
      new Job('read', 'a').start(19),
      new Job('read', 'a').start(19),
    ]);
    expect([first?.done, second?.done]).toEqual([true, true]);
    await turns(3);
    expect(slices.turn).toBe(0);
  });

  it('lets a single work run to its end', async () => {
    const [job] = await started(() => [new Job('read', 'a').start(155)]);
    expect(job).toMatchObject({ done: true, slices: 0 });
  });
});

describe('the order of slices', () => {
  it('gives a short new read its slice before long ones have another', async () => {
    await started(() => Array.from({ length: 32 }, () => new Job('read', 'a').start(100_000)));
    await turns(100);
    const [late] = await started(() => [new Job('read', 'a').start(100)]);
    await turns(2);
    expect(late?.done).toBe(true);
  });

  it('lets long works continue among any number of short ones', async () => {
    const [long] = await started(() => [new Job('read', 'a').start(1_000_000)]);
    await turns(10);
    const before = (long as Job).steps;
    await turns(20, () => {
      for (let count = 0; count < 3; count++) new Job('read', 'a').start(100);
    });
    expect((long as Job).steps - before).toBeGreaterThanOrEqual((9 * TURN_MS) / STEP_MS);
  });

  it('shares the time of a class between keys', async () => {
    const jobs = await started(() => [
      ...Array.from({ length: 9 }, () => new Job('read', 'many').start(1_000_000)),
      new Job('read', 'one').start(1_000_000),
    ]);
    await turns(1000);
    const one = (jobs[9] as Job).steps;
    const many = jobs.slice(0, 9).reduce((sum, { steps }) => sum + steps, 0);
    expect(one / (one + many)).toBeCloseTo(0.5, 1);
    const each = jobs.slice(0, 9).map(({ steps }) => steps);
    expect(Math.max(...each) / Math.min(...each)).toBeLessThan(1.2);
  });

  it('gives a long command half of the time beside everything else', async () => {
    const jobs = await started(() => [
      ...Array.from({ length: 32 }, () => new Job('read', 'a').start(1_000_000)),
      new Job('background', 'scrub').start(1_000_000),
      new Job('command', 'a').start(1_000_000),
    ]);
    await turns(400);
    const total = jobs.reduce((sum, { steps }) => sum + steps, 0);
    const command = (jobs[33] as Job).steps;
    const scrub = (jobs[32] as Job).steps;
    expect(command / total).toBeCloseTo(0.5, 1);
    expect(scrub / total).toBeCloseTo(0.125, 1);
  });

  it('gives no credit for unused time', async () => {
    const [long] = await started(() => [new Job('read', 'a').start(1_000_000)]);
    await turns(100);
    const [late] = await started(() => [new Job('command', 'b').start(1_000_000)]);
    const before = (long as Job).steps;
    await turns(100);
    // Three of seven parts, and not nothing until the other has caught up.
    const share = ((long as Job).steps - before) / ((long as Job).steps - before + (late as Job).steps);
    expect(share).toBeCloseTo(3 / 7, 1);
  });
});

describe('beside short writes', () => {
  it('takes a quarter of what everything else takes', async () => {
    const [job] = await started(() => [new Job('read', 'a').start(1_000_000)]);
    await turns(5);
    const before = (job as Job).steps;
    await turns(100, () => {
      clock.work(4);
      slices.noteWrite(clock.monotonicMs());
    });
    const sliced = ((job as Job).steps - before) * STEP_MS;
    expect(sliced).toBeGreaterThan(100 * 0.9);
    expect(sliced).toBeLessThan(100 * 1.2);
  });

  it('takes short slices while writers wait for the disk', async () => {
    const jobs = await started(() => Array.from({ length: 32 }, () => new Job('read', 'a').start(1_000_000)));
    await turns(5);
    slices.noteWrite(clock.monotonicMs());
    await turns(2);
    clock.turnsMs.length = 0;
    await turns(20);
    expect(Math.max(...clock.turnsMs)).toBeLessThan(0.5);
    // Long after the last write slices are long again.
    await turns(400);
    expect(clock.turnsMs.at(-1)).toBeGreaterThanOrEqual(TURN_MS);
    expect(jobs.some(({ done }) => done)).toBe(false);
  });
});

describe('work that is no longer awaited', () => {
  it('ends in its wait', async () => {
    const jobs = await started(() => Array.from({ length: 3 }, () => new Job('read', 'a').start(1_000_000)));
    await turns(4);
    const gone = jobs[1] as Job;
    gone.abandoned = new Error('gone');
    const { steps } = gone;
    await turns(4);
    expect(gone.error).toBe(gone.abandoned);
    expect(gone.steps).toBe(steps);
    expect(slices.waiting).toBe(2);
  });

  it('ends with its slice when nothing else waits, even after another kind of wait', () => {
    let isWanted = true;
    const gone = new Error('gone');
    const requireWaiting = (): void => {
      if (!isWanted) throw gone;
    };
    const work = slices.begin('read', { sliceKey: 'a', requireWaiting });
    expect(work.pause()).toBeUndefined();
    // Such as a client that takes its time to read.
    clock.work(100_000);
    expect(work.pause()).toBeUndefined();
    isWanted = false;
    clock.work(100_000);
    expect(() => work.pause()).toThrow(gone);
  });

  it('leaves the loop idle when it was the last', async () => {
    const [job] = await started(() => [new Job('read', 'a').start(1_000_000)]);
    (job as Job).abandoned = new Error('gone');
    await turns(4);
    const { turn } = slices;
    await turns(4);
    expect(slices.turn).toBe(turn);
    expect(slices.waiting).toBe(0);
  });
});

describe('work that waits for something else in between', () => {
  it('gets a new slice before it continues', async () => {
    await started(() => [new Job('read', 'a').start(1_000_000)]);
    let more: () => void = () => {};
    const socket = new Promise<void>((resolve) => {
      more = resolve;
    });
    const work = slices.begin('read', { sliceKey: 'b', requireWaiting: () => {} });
    expect(work.pause()).toBeUndefined();
    const paused: boolean[] = [];
    void socket.then(() => void paused.push(work.pause() !== undefined));
    await turns(3);
    more();
    await turns(1);
    expect(paused).toEqual([true]);
  });
});

import type { Accumulator } from '#runtime/sql-values/scalar-function.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { Execution } from '../../execution.ts';
import type { CompiledAggregate } from '../compiled-aggregate.ts';
import type { CompiledWindow } from '../compiled-window.ts';
import { addWork, argumentsOf } from '../groups/aggregate-input.ts';
import { BYTE_WORK, rowBytes } from '../row-memory.ts';
import { type FrameBounds, frameBounds } from './frame-bounds.ts';
import { type SlidingAggregate, slidingAggregate } from './sliding-aggregates.ts';
import { rowAt, type WindowPartition, type PutResult } from './window-partition.ts';

/** Estimated nanoseconds of a row, besides taking rows into the aggregate. */
const FRAME_WORK = 300;

/** Gives the value of the aggregate for one frame after the other. */
interface FrameValues {
  /** Moves on to a frame; yields where the work may pause. */
  moveTo(start: number, end: number): Generator<undefined, SqlValue>;
  /** Frees what it keeps. */
  end(): void;
}

/** What the ways to compute an aggregate over frames share. */
interface FrameInput {
  readonly execution: Execution;
  readonly aggregate: CompiledAggregate;
  readonly partition: WindowPartition;
  /** Counts memory; below 0: frees it. */
  readonly keep: (bytes: number) => void;
}

/**
 * Computes an aggregate over the frames of all rows of a partition.
 *
 * Frames that start with the partition take in each row once. Of other frames, those of aggregates that can also take rows out
 * again (COUNT, MIN, MAX, and SUM and AVG of integers) do so; for the others every frame is taken in anew, and each of its rows is counted,
 * so that many wide frames are refused.
 *
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function* frameAggregateValues(
  input: FrameInput,
  window: CompiledWindow,
  put: PutResult,
): Generator<undefined, void> {
  const { execution, partition } = input;
  const frame = frameBounds(window.frame, partition, window.partitioning.orderBy);
  const values = valuesFor(input, frame);
  let [lastStart, lastEnd] = [-1, -1];
  let value: SqlValue = null;
  for (let place = 0; place < partition.rows.length; place++) {
    const [start, end] = [frame.start(place), frame.end(place)];
    if (start !== lastStart || end !== lastEnd) value = yield* values.moveTo(start, end);
    execution.spend(FRAME_WORK + frame.work);
    put(place, value);
    [lastStart, lastEnd] = [start, end];
    if (execution.isDue) yield pause(execution);
  }
  values.end();
}

function valuesFor(input: FrameInput, frame: FrameBounds): FrameValues {
  if (frame.isFromStart) return new GrowingFrames(input);
  const sliding = slidingAggregate(input.aggregate);
  return sliding === undefined ? new RepeatedFrames(input) : new SlidingFrames(input, sliding);
}

/** Frames that start with the partition. */
class GrowingFrames implements FrameValues {
  readonly #input: FrameInput;
  readonly #accumulator: Accumulator;
  #end = 0;
  #kept = 0;

  constructor(input: FrameInput) {
    this.#input = input;
    this.#accumulator = input.aggregate.function.start();
  }

  *moveTo(_start: number, end: number): Generator<undefined, SqlValue> {
    const { execution } = this.#input;
    for (; this.#end < end; this.#end++) {
      this.#kept += take(this.#input, this.#accumulator, this.#end);
      if (execution.isDue) yield pause(execution);
    }
    execution.spend(this.#kept * BYTE_WORK);
    return this.#accumulator.result();
  }

  end(): void {
    this.#input.keep(-this.#kept);
  }
}

/** Frames of an aggregate that takes rows out as well. */
class SlidingFrames implements FrameValues {
  readonly #input: FrameInput;
  readonly #sliding: SlidingAggregate;
  /** The arguments of the rows from `#start` until before `#end`; undefined for those that are left out. */
  #args: (readonly SqlValue[] | undefined)[] = [];
  /** Place of the first of `#args`, which may be before `#start`. */
  #argsFrom = 0;
  #start = 0;
  #end = 0;
  #kept = 0;

  constructor(input: FrameInput, sliding: SlidingAggregate) {
    this.#input = input;
    this.#sliding = sliding;
  }

  *moveTo(start: number, end: number): Generator<undefined, SqlValue> {
    const { execution } = this.#input;
    for (; this.#start < Math.min(start, this.#end); this.#start++) {
      this.#takeOut(this.#start);
      if (execution.isDue) yield pause(execution);
    }
    // Rows between two frames belong to none.
    if (start > this.#end) this.#restartAt(start);
    for (; this.#end < end; this.#end++) {
      this.#takeIn(this.#end);
      if (execution.isDue) yield pause(execution);
    }
    return this.#sliding.result();
  }

  end(): void {
    this.#input.keep(-this.#kept);
  }

  #restartAt(place: number): void {
    this.#start = place;
    this.#end = place;
    this.#args = [];
    this.#argsFrom = place;
  }

  #takeIn(place: number): void {
    const { aggregate, execution, partition } = this.#input;
    const args = argumentsOf(aggregate, rowAt(partition, place));
    this.#args.push(args);
    execution.spend(addWork(args ?? [], 0));
    if (args === undefined) return;
    this.#grow(rowBytes(args));
    this.#sliding.add(place, args);
  }

  #takeOut(place: number): void {
    const { execution } = this.#input;
    const args = this.#args[place - this.#argsFrom];
    execution.spend(addWork(args ?? [], 0));
    if (args !== undefined) {
      this.#sliding.remove(place, args);
      this.#grow(-rowBytes(args));
    }
    this.#args[place - this.#argsFrom] = undefined;
    // The front is cut off when it is half of all: each row is copied once at most for each that leaves.
    const passed = place + 1 - this.#argsFrom;
    if (passed * 2 < this.#args.length || passed < 64) return;
    this.#args = this.#args.slice(passed);
    this.#argsFrom += passed;
  }

  #grow(bytes: number): void {
    this.#input.keep(bytes);
    this.#kept += bytes;
  }
}

/** Frames that are taken in anew one by one. */
class RepeatedFrames implements FrameValues {
  readonly #input: FrameInput;

  constructor(input: FrameInput) {
    this.#input = input;
  }

  *moveTo(start: number, end: number): Generator<undefined, SqlValue> {
    const { aggregate, execution, keep } = this.#input;
    const accumulator = aggregate.function.start();
    let kept = 0;
    for (let place = start; place < end; place++) {
      kept += take(this.#input, accumulator, place);
      if (execution.isDue) yield pause(execution);
    }
    execution.spend(kept * BYTE_WORK);
    const value = accumulator.result();
    keep(-kept);
    return value;
  }

  end(): void {}
}

/** Takes the row at a place into an accumulator. @returns the bytes that were counted for it */
function take(
  { aggregate, execution, keep, partition }: FrameInput,
  accumulator: Accumulator,
  place: number,
): number {
  const args = argumentsOf(aggregate, rowAt(partition, place));
  const grown = args === undefined ? 0 : accumulator.add(args);
  execution.spend(addWork(args ?? [], grown));
  if (grown !== 0) keep(grown);
  return grown;
}

function pause(execution: Execution): undefined {
  execution.pausing();
  return undefined;
}

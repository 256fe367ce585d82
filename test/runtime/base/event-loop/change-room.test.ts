import { expect, it } from 'vitest';
import { ChangeRoom, changeBytesMax, type ChangeShare } from '#runtime/base/event-loop/change-room.ts';
import { TestClock } from '#test/support/test-clock.ts';

const nobodyLeaves = (): void => {};
const clock = new TestClock();
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A long work that takes more and more. */
class Grower {
  readonly share: ChangeShare;
  readonly room: ChangeRoom;
  isWaiting = false;
  refusal: unknown;

  constructor(room: ChangeRoom, bytes: number) {
    this.room = room;
    this.share = room.share();
    room.hold(this.share, bytes);
  }

  /** Asks to grow, with what throws when nobody waits. */
  ask(requireWaiting: () => void = nobodyLeaves): void {
    const wait = this.room.grow(this.share, requireWaiting, clock);
    this.isWaiting = wait !== undefined;
    wait?.then(
      () => {
        this.isWaiting = false;
      },
      (error: unknown) => {
        this.refusal = error;
      },
    );
  }
}

it('lets everybody grow while there is room', () => {
  const room = new ChangeRoom(10);
  const growers = [new Grower(room, 5), new Grower(room, 5)];
  for (const grower of growers) grower.ask();
  expect([room.used, room.isFull, growers.map((grower) => grower.isWaiting)]).toEqual([
    10,
    false,
    [false, false],
  ]);
});

it('lets one grow where there is none, and the next when that one has come to its end', async () => {
  const room = new ChangeRoom(10);
  const [first, second, third] = [new Grower(room, 5), new Grower(room, 5), new Grower(room, 5)] as const;
  for (const grower of [first, second, third]) grower.ask();
  expect([first.isWaiting, second.isWaiting, third.isWaiting]).toEqual([false, true, true]);
  room.hold(first.share, 50);
  first.ask();
  room.hold(first.share, 40);
  await turn();
  expect([first.isWaiting, second.isWaiting, third.isWaiting]).toEqual([false, true, true]);
  // What it made waits to be applied, in another share.
  const applied = room.share();
  room.hold(applied, 40);
  room.hold(first.share, 0);
  await turn();
  expect([second.isWaiting, third.isWaiting, room.used]).toEqual([false, true, 50]);
  room.hold(applied, 0);
  await turn();
  expect([third.isWaiting, room.used]).toEqual([false, 10]);
});

it('does not count the one that continues against new batches and small work', async () => {
  const room = new ChangeRoom(32);
  const [large, small, next] = [new Grower(room, 0), new Grower(room, 2), new Grower(room, 3)] as const;
  room.hold(large.share, 31);
  expect(room.isFull).toBe(true);
  const told = room.change();
  large.ask();
  await told;
  for (const grower of [small, next]) grower.ask();
  room.hold(large.share, 100);
  expect([room.isFull, large.isWaiting, small.isWaiting, next.isWaiting]).toEqual([
    false,
    false,
    false,
    true,
  ]);
  const others = room.share();
  room.hold(others, 28);
  small.ask();
  expect([room.isFull, small.isWaiting]).toEqual([true, true]);
  room.hold(others, 27);
  await turn();
  expect([room.isFull, small.isWaiting, next.isWaiting]).toEqual([false, false, true]);
  // Below the limit nothing is left out.
  room.hold(large.share, 0);
  room.hold(others, 33);
  expect(room.isFull).toBe(true);
});

it('lets the next one continue when there was room, although the last one still holds something', () => {
  const room = new ChangeRoom(10);
  const [first, second] = [new Grower(room, 20), new Grower(room, 0)] as const;
  first.ask();
  // Later changes of the same actor follow, so that it may never hold nothing.
  room.hold(first.share, 3);
  room.hold(second.share, 9);
  second.ask();
  expect(second.isWaiting).toBe(false);
});

it('lets work that cannot wait take the place of the one that continues', () => {
  const room = new ChangeRoom(10);
  const [first, second] = [new Grower(room, 20), new Grower(room, 5)] as const;
  room.lead(second.share);
  expect(room.isFull).toBe(true);
  room.lead(first.share);
  expect(room.isFull).toBe(true);
  room.hold(second.share, 0);
  room.lead(first.share);
  expect(room.isFull).toBe(false);
});

it('ends the wait of work that is no longer awaited, and gives it no turn', async () => {
  const room = new ChangeRoom(10);
  const [first, second, third] = [new Grower(room, 5), new Grower(room, 5), new Grower(room, 5)] as const;
  first.ask();
  second.ask(() => {
    throw new Error('gone');
  });
  third.ask();
  room.hold(first.share, 0);
  room.hold(room.share(), 20);
  await turn();
  expect([second.refusal, third.isWaiting]).toEqual([new Error('gone'), false]);
});

it('notifies waiting batches when there is room again', async () => {
  const room = new ChangeRoom(10);
  const share = room.share();
  room.hold(share, 11);
  let isTold = false;
  const told = room.change().then(() => {
    isTold = true;
  });
  room.hold(share, 12);
  await turn();
  expect([room.isFull, isTold]).toEqual([true, false]);
  room.hold(share, 3);
  await told;
  expect(room.isFull).toBe(false);
});

it('lets no other work continue after a hand-over until what was handed over is released', async () => {
  const room = new ChangeRoom(10);
  const [first, second] = [new Grower(room, 20), new Grower(room, 5)] as const;
  first.ask();
  second.ask();
  const applied = room.share();
  room.handOver(first.share, applied);
  room.hold(applied, 20);
  room.hold(first.share, 0);
  room.hold(applied, 15);
  await turn();
  expect(second.isWaiting).toBe(true);
  room.hold(applied, 0);
  await turn();
  expect(second.isWaiting).toBe(false);
});

it('lets the next work continue when what was handed over cannot be released', async () => {
  const room = new ChangeRoom(10);
  const [first, second] = [new Grower(room, 20), new Grower(room, 5)] as const;
  first.ask();
  second.ask();
  room.yieldTurn(second.share);
  await turn();
  expect(second.isWaiting).toBe(true);
  room.yieldTurn(first.share);
  await turn();
  expect(second.isWaiting).toBe(false);
});

it('lets the next work continue when the one that continued ends without having made anything', async () => {
  const room = new ChangeRoom(10);
  room.hold(room.share(), 20);
  const [first, second] = [new Grower(room, 0), new Grower(room, 5)] as const;
  first.ask();
  second.ask();
  expect([first.isWaiting, second.isWaiting]).toEqual([false, true]);
  room.hold(first.share, 0);
  await turn();
  expect(second.isWaiting).toBe(false);
});

it('ends the wait of a work whose caller is gone also when nothing changes', async () => {
  const room = new ChangeRoom(10);
  const [first, second] = [new Grower(room, 20), new Grower(room, 5)] as const;
  let isGone = false;
  first.ask();
  second.ask(() => {
    if (isGone) throw new Error('gone');
  });
  clock.advance(1_000);
  await turn();
  expect([second.isWaiting, second.refusal]).toEqual([true, undefined]);
  isGone = true;
  clock.advance(1_000);
  await turn();
  expect(second.refusal).toEqual(new Error('gone'));
});

it('is a fifth of what the heap has for load', () => {
  const mebibyte = 1024 * 1024;
  expect(changeBytesMax(596 * mebibyte)).toBe(100 * mebibyte);
});

import { describe, expect, it } from 'vitest';
import { ClusterDirectory } from '#cluster/directory/cluster-directory.ts';
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from '#cluster/directory/heartbeat.ts';
import { MemberRegistry, registryTimes } from '#cluster/directory/member-registry.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { SimRandom } from '#test/sim/sim-random.ts';
import { SimScheduler } from '#test/sim/sim-scheduler.ts';

const PARTITIONS = 12;
/** A taker waits so long after the last sign of an owner that did not say good-bye. */
const LEASE_MS = 4_000;
/** A follower is close enough after so long. */
const WARM_MS = 2_000;
const STEP_MS = 250;

/** What the logs say: who opened each partition last. It alone decides. */
class Logs {
  readonly epochs = Array.from({ length: PARTITIONS }, () => 0);
  readonly owners: (string | undefined)[] = Array.from({ length: PARTITIONS }, () => undefined);
  readonly closed = new Set<number>();
  readonly appendedMs = Array.from({ length: PARTITIONS }, () => Number.NEGATIVE_INFINITY);
  /** Changes of owners: when, which, from whom to whom. */
  readonly history: { atMs: number; partition: number; from: string | undefined; to: string }[] = [];

  open(partition: number, member: string, atMs: number): number {
    this.history.push({ atMs, partition, from: this.owners[partition], to: member });
    this.owners[partition] = member;
    this.closed.delete(partition);
    this.appendedMs[partition] = atMs;
    this.epochs[partition] = (this.epochs[partition] as number) + 1;
    return this.epochs[partition] as number;
  }
}

/** A member that does with partitions what its directory says, as far as the logs let it. */
class SimMember implements Clock {
  readonly id: string;
  readonly registry: MemberRegistry;
  readonly directory: ClusterDirectory;
  readonly #world: World;
  readonly #owned = new Map<number, number>();
  readonly #following = new Map<number, number>();
  #held: (() => void)[] = [];
  #isPaused = false;
  isAlive = true;
  isLeaving = false;
  lost: string[] = [];
  /** Partitions whose log or shards cannot be trusted here; it says so when it tries to take one. */
  readonly damaged = new Set<number>();
  readonly #resting = new Set<number>();

  constructor(world: World, id: string) {
    this.id = id;
    this.#world = world;
    this.registry = new MemberRegistry({
      member: { id, url: `http://${id}` },
      version: '1.2.3',
      formats: { records: 1, calls: 1 },
      partitions: PARTITIONS,
      load: () => ({ requestsInFlight: 0, openActors: 0, pendingBytes: 0 }),
      channel: {
        send: (heartbeat) => world.broadcast(this, heartbeat),
        listen: (hear) => {
          this.#hear = hear;
          return () => {
            this.#hear = () => {};
          };
        },
      },
      clock: this,
      random: world.random,
      observer: {
        joined: () => {},
        lost: (member) => void this.lost.push(member),
        duplicate: () => {
          throw new Error('two members of one name');
        },
        surplus: () => {
          throw new Error('more members than there may be');
        },
      },
    });
    this.directory = new ClusterDirectory(this.registry, id, PARTITIONS);
    this.registry.start();
    this.#live();
  }

  #hear: (heartbeat: Heartbeat) => void = () => {};

  /** The clock of the machine goes on while the process stands still. */
  wallMs(): number {
    return this.#world.scheduler.wallMs();
  }

  monotonicMs(): number {
    return this.#world.scheduler.monotonicMs();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#world.scheduler.after(delayMs, () => this.#run(callback));
  }

  soon(callback: () => void): void {
    this.#world.scheduler.soon(() => this.#run(callback));
  }

  receive(heartbeat: Heartbeat): void {
    this.#run(() => this.#hear(heartbeat));
  }

  kill(): void {
    this.isAlive = false;
  }

  /** It is told to go: what it has is handed over first. */
  leave(): void {
    this.isLeaving = true;
    this.registry.drain();
  }

  pause(ms: number): void {
    this.#isPaused = true;
    this.#world.scheduler.after(ms, () => {
      this.#isPaused = false;
      for (const callback of this.#held.splice(0)) this.#run(callback);
    });
  }

  #run(callback: () => void): void {
    if (!this.isAlive) return;
    if (this.#isPaused) this.#held.push(callback);
    else callback();
  }

  #live(): void {
    const { logs } = this.#world;
    const nowMs = this.monotonicMs();
    for (const [partition, epoch] of this.#owned) {
      if (logs.epochs[partition] === epoch) logs.appendedMs[partition] = nowMs;
      else {
        // Its append is refused.
        this.#owned.delete(partition);
        this.registry.release(partition);
      }
    }
    for (const partition of this.directory.followed) {
      if (!this.#following.has(partition)) this.#following.set(partition, nowMs);
      this.registry.observe(partition, logs.epochs[partition] as number);
    }
    const warm = [...this.#following].filter(([, sinceMs]) => nowMs - sinceMs > WARM_MS);
    this.registry.setWarm(warm.map(([partition]) => partition));
    for (const { partition, to } of this.directory.handovers) {
      if (!this.#owned.delete(partition)) continue;
      logs.closed.add(partition);
      this.registry.release(partition, to);
    }
    for (const partition of this.directory.vacancies) {
      const isFree = logs.closed.has(partition) || nowMs - (logs.appendedMs[partition] as number) > LEASE_MS;
      if (!isFree || this.#owned.has(partition)) continue;
      if (this.damaged.has(partition)) {
        this.#resting.add(partition);
        this.registry.setResting(this.#resting);
        continue;
      }
      this.#world.opened(this, partition);
      const epoch = logs.open(partition, this.id, nowMs);
      this.#owned.set(partition, epoch);
      this.#following.delete(partition);
      this.registry.claim(partition, epoch);
    }
    const isDrained = this.directory.members().some((each) => each.isSelf && each.isDraining);
    if (isDrained && this.#owned.size === 0) {
      this.registry.stop();
      this.isAlive = false;
      return;
    }
    this.after(STEP_MS, () => this.#live());
  }
}

/** A network with latency and losses between members. */
class World {
  readonly random: SimRandom;
  readonly scheduler: SimScheduler;
  readonly logs = new Logs();
  readonly members: SimMember[] = [];
  lossRate = 0;
  readonly cut = new Set<string>();

  constructor(seed: number) {
    this.random = new SimRandom(seed);
    this.scheduler = new SimScheduler(this.random);
  }

  /** What a taker was, and who else was there: for the rules about who takes over. */
  readonly takers: { readonly isWarm: boolean; readonly hadWarm: boolean }[] = [];

  /** A member takes a partition over. */
  opened(taker: SimMember, partition: number): void {
    // As the taker hears them: what the others said last may still be on its way.
    const able = taker.directory
      .members()
      .filter(
        ({ id, isDraining, isSuspect }) =>
          !isDraining && !isSuspect && !taker.registry.restingOf(id).has(partition),
      );
    const warm = able.filter((each) => each.warm.includes(partition)).map(({ id }) => id);
    const isNamed = taker.registry.successors.get(partition) === taker.id;
    if (!isNamed) this.takers.push({ isWarm: warm.includes(taker.id), hadWarm: warm.length > 0 });
  }

  get alive(): SimMember[] {
    return this.members.filter(({ isAlive }) => isAlive);
  }

  join(id: string): SimMember {
    const member = new SimMember(this, id);
    this.members.push(member);
    return member;
  }

  broadcast(from: SimMember, heartbeat: Heartbeat): void {
    const bytes = encodeHeartbeat(heartbeat);
    for (const member of this.alive) {
      if (member !== from && (this.cut.has(from.id) || this.cut.has(member.id))) continue;
      if (this.random.chance(this.lossRate)) continue;
      const latencyMs = this.random.next() * 50;
      this.scheduler.after(latencyMs, () => {
        const heard = decodeHeartbeat(bytes, PARTITIONS);
        if (heard === undefined) throw new Error('a heartbeat that cannot be read');
        member.receive(heard);
      });
    }
  }

  async run(ms: number): Promise<void> {
    const endMs = this.scheduler.monotonicMs() + ms;
    while (this.scheduler.monotonicMs() < endMs && (await this.scheduler.step()));
  }

  /** Everybody who is there sees the same, everything is owned, and nobody has two more than another. */
  expectSettled(): void {
    const ids = this.alive.map(({ id }) => id).sort();
    const owned = new Map(ids.map((id) => [id, 0]));
    for (const { directory } of this.alive) {
      const present = directory.members().filter(({ isSuspect }) => !isSuspect);
      expect(present.map(({ id }) => id)).toEqual(ids);
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const owner = directory.ownerOf(partition);
        expect([owner?.id, owner?.epoch]).toEqual([this.logs.owners[partition], this.logs.epochs[partition]]);
        const following = directory.followersOf(partition).map(({ id }) => id);
        expect(following).toHaveLength(Math.min(2, ids.length - 1));
        expect(following).not.toContain(owner?.id);
      }
      expect([directory.vacancies, directory.handovers]).toEqual([[], []]);
    }
    for (const owner of this.logs.owners) owned.set(owner as string, (owned.get(owner as string) ?? 0) + 1);
    expect([...owned.keys()].sort()).toEqual(ids);
    expect(Math.max(...owned.values()) - Math.min(...owned.values())).toBeLessThanOrEqual(1);
  }

  /** Nothing changes hands any more. */
  async expectRest(): Promise<void> {
    const { length } = this.logs.history;
    await this.run(30_000);
    expect(this.logs.history.slice(length)).toEqual([]);
  }
}

const seeds = Array.from({ length: 24 }, (_, index) => index + 1);

describe('members, placement and ownership', () => {
  it.each(seeds)(
    'settle after any joins, leaves, deaths and losses, and then rest (seed %i)',
    async (seed) => {
      const world = new World(seed);
      for (const id of ['a', 'b', 'c']) world.join(id);
      await world.run(40_000);
      world.expectSettled();
      for (let round = 0; round < 4; round++) {
        world.lossRate = world.random.next() * 0.15;
        const what = world.random.pick(['join', 'kill', 'leave', 'pause', 'cut', 'restart'] as const);
        const member = world.random.pick(world.alive);
        if (what === 'join') world.join(`m${round}`);
        else if (what === 'pause') member.pause(world.random.next() * 30_000);
        else if (what === 'cut') world.cut.add(member.id);
        else if (world.alive.filter((each) => each !== member && !each.isLeaving).length > 0) {
          if (what === 'leave') member.leave();
          else member.kill();
          if (what === 'restart') world.join(member.id);
        }
        await world.run(world.random.next() * 20_000);
      }
      world.lossRate = 0;
      world.cut.clear();
      await world.run(90_000);
      world.expectSettled();
      await world.expectRest();
    },
  );

  it.each(seeds)(
    'find an owner for every partition that one of them can take, with any failures of the others (seed %i)',
    async (seed) => {
      const world = new World(seed);
      for (const id of ['a', 'b', 'c', 'd']) world.join(id);
      await world.run(60_000);
      world.expectSettled();
      world.lossRate = world.random.next() * 0.15;
      const dead = world.random.pick(world.members);
      for (let partition = 0; partition < PARTITIONS; partition++) {
        if (world.logs.owners[partition] !== dead.id) continue;
        const others = world.members.filter((each) => each !== dead);
        const well = world.random.pick(others);
        for (const each of others) if (each !== well) each.damaged.add(partition);
      }
      dead.kill();
      // The lease, the suspicion, and two that say that they cannot.
      await world.run(20_000);
      for (const [partition, owner] of world.logs.owners.entries()) {
        expect(owner).not.toBe(dead.id);
        expect(world.members.find(({ id }) => id === owner)?.damaged.has(partition)).toBe(false);
      }
      const { length } = world.logs.history;
      world.lossRate = 0;
      await world.run(30_000);
      for (const { partition, to } of world.logs.history.slice(length))
        expect(world.members.find(({ id }) => id === to)?.damaged.has(partition)).toBe(false);
    },
  );

  it.each(seeds)('let no empty member take over what another one has at hand (seed %i)', async (seed) => {
    const world = new World(seed);
    const [first] = ['a', 'b', 'c'].map((id) => world.join(id)) as [SimMember];
    await world.run(60_000);
    world.expectSettled();
    world.takers.length = 0;
    world.lossRate = world.random.next() * 0.1;
    world.join('empty');
    await world.run(world.random.next() * 3_000);
    first.kill();
    await world.run(20_000);
    expect(world.takers.length).toBeGreaterThanOrEqual(4);
    for (const { hadWarm, isWarm } of world.takers) expect(isWarm || !hadWarm).toBe(true);
    expect(world.takers.some(({ isWarm }) => isWarm)).toBe(true);
  });

  it('give a new member its share by planned moves, two at a time, and nothing before it is steady', async () => {
    const world = new World(7);
    for (const id of ['a', 'b']) world.join(id);
    await world.run(40_000);
    world.expectSettled();
    const { length } = world.logs.history;
    const joinedMs = world.scheduler.monotonicMs();
    world.join('c');
    let open = 0;
    for (let second = 0; second < 60; second++) {
      await world.run(500);
      open = Math.max(open, world.logs.closed.size);
    }
    world.expectSettled();
    const moves = world.logs.history.slice(length);
    expect(moves).toHaveLength(4);
    for (const { atMs, to } of moves) {
      expect(to).toBe('c');
      expect(atMs - joinedMs).toBeGreaterThan(registryTimes.steadyMs);
    }
    expect(open).toBeLessThanOrEqual(2);
  });

  it('hand everything over before a member leaves, without a partition changing hands twice', async () => {
    const world = new World(8);
    const [first] = ['a', 'b', 'c'].map((id) => world.join(id)) as [SimMember];
    await world.run(40_000);
    const { length } = world.logs.history;
    const had = world.logs.owners.filter((owner) => owner === first.id).length;
    first.leave();
    await world.run(20_000);
    world.expectSettled();
    const moves = world.logs.history.slice(length);
    expect(moves).toHaveLength(had);
    for (const { from } of moves) expect(from).toBe(first.id);
  });

  it('move nothing while one member that lives is not heard now and then', async () => {
    const world = new World(9);
    for (const id of ['a', 'b', 'c', 'd']) world.join(id);
    await world.run(60_000);
    world.expectSettled();
    const { length } = world.logs.history;
    for (let round = 0; round < 8; round++) {
      world.cut.add('d');
      await world.run(6_000);
      world.cut.delete('d');
      await world.run(3_000);
    }
    expect(world.logs.history.slice(length)).toEqual([]);
    await world.expectRest();
    world.expectSettled();
  });

  it('take over once from a member that stops now and then, and give it nothing back before it is steady', async () => {
    const world = new World(11);
    const [, , , last] = ['a', 'b', 'c', 'd'].map((id) => world.join(id)) as SimMember[];
    await world.run(60_000);
    world.expectSettled();
    const { length } = world.logs.history;
    for (let round = 0; round < 8; round++) {
      last?.pause(9_000);
      await world.run(14_000);
    }
    const moves = world.logs.history.slice(length);
    expect(moves.filter(({ from }) => from === 'd')).toHaveLength(3);
    expect(moves.filter(({ to }) => to === 'd')).toEqual([]);
    // The followers of what it had need not be those that had least.
    expect(moves.length).toBeLessThanOrEqual(4);
    await world.run(60_000);
    world.expectSettled();
    await world.expectRest();
  });

  it('suspect no member because they were paused themselves', async () => {
    const world = new World(10);
    const [first] = ['a', 'b', 'c'].map((id) => world.join(id)) as [SimMember];
    await world.run(40_000);
    first.pause(15_000);
    await world.run(20_000);
    expect(first.lost).toEqual([]);
    expect(world.members[1]?.lost).toEqual([first.id]);
  });
});

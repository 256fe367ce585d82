import { describe, expect, it } from 'vitest';
import type { FlushChannel, FlushConfirmation } from '#cluster/replica-durability/flush-channel.ts';
import type { ReplicaStatusChannel } from '#cluster/replica-durability/replica-status.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { LEASE_MS, PartitionWorld, type SimMachine } from '#test/sim/partition-world.ts';
import { LEDGERS, SimDisks } from '#test/sim/sim-host.ts';
import { SimProcess } from '#test/sim/sim-process.ts';

const NAMES = ['m1', 'm2', 'm3'];

/** What an successor needs besides the lease: flushes, and a word of the other replicas. Simulated time, in milliseconds. */
const OPENING_MS_MAX = 1500;

/** Three members of one partition in class `replica-disk`, on servers that work; time is simulated. */
class Replicas {
  readonly world = new PartitionWorld(1);
  readonly #told = new Set<(told: FlushConfirmation) => void>();
  readonly #asked = new Set<() => void>();
  readonly machines: readonly SimMachine[] = NAMES.map((name) => this.#machine(name));

  constructor() {
    this.world.stream.heal();
  }

  get nowMs(): number {
    return this.world.scheduler.monotonicMs();
  }

  /** Lets things happen until one has. */
  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await this.world.step();
  }

  /** Lets things happen until a promise is settled. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    promise.then(over, over);
    // A turn in which it reaches what it waits for.
    this.world.scheduler.soon(() => {});
    await this.until(() => isOver);
    return promise;
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    let isOver = false;
    this.world.scheduler.after(ms, () => {
      isOver = true;
    });
    await this.until(() => isOver);
    expect(this.nowMs).toBeGreaterThanOrEqual(endMs);
  }

  /** The first member owns the partition, the others follow it, and everything written is with all of them. */
  async begin(): Promise<void> {
    const [owner, ...others] = this.machines as [SimMachine, SimMachine, SimMachine];
    for (const { member } of others) await this.during(member.follow());
    expect(await this.during(owner.member.own())).toBe(true);
    const { host, log } = owner.member.owned as NonNullable<typeof owner.member.owned>;
    const command = { kind: 'put', operation: 'op', key: 'k' };
    await this.during(host.submit(LEDGERS[0] as string, command));
    // The newest record has no entries, as behind a read that asked the log.
    await this.pass(2000);
    await this.during(log.barrier());
    await this.until(() => others.every(({ member }) => member.sequence === log.storedPosition.sequence));
  }

  /** @returns how long it took until the second member owned it, in simulated milliseconds */
  async takeOver(): Promise<number> {
    const successor = this.machines[1] as SimMachine;
    const startedMs = this.nowMs;
    expect(await this.during(successor.member.own())).toBe(true);
    return this.nowMs - startedMs;
  }

  #machine(name: string): SimMachine {
    const life = new SimProcess(name, this.world.scheduler, 1, 0);
    const files = new FaultyFileSystem(() => new Promise((resolve) => life.after(1, resolve)));
    const machine = { name, life, files, disks: new SimDisks() };
    const member = this.world.memberOf(machine, {
      replicas: {
        statuses: this.#statuses(life),
        others: () => this.machines.filter((each) => each.life !== life && each.life.isAlive).length,
        flush: { channel: this.#channel(life), votersWanted: () => NAMES },
      },
      report: () => {},
    });
    return { ...machine, member };
  }

  #channel(life: SimProcess): FlushChannel {
    const heard = <Listener extends (...said: never[]) => void>(all: Set<Listener>, listener: Listener) => {
      const inProcess = ((...said: never[]) => life.run(() => listener(...said))) as Listener;
      all.add(inProcess);
      return () => void all.delete(inProcess);
    };
    return {
      tell: (_, told) =>
        this.world.scheduler.soon(() => [...this.#told].forEach((listener) => void listener(told))),
      ask: () => this.world.scheduler.soon(() => [...this.#asked].forEach((listener) => void listener())),
      onConfirmation: (_, listener) => heard(this.#told, listener),
      onRequest: (_, listener) => heard(this.#asked, listener),
    };
  }

  #statuses(life: SimProcess): ReplicaStatusChannel {
    return {
      ask: (_, hear, maxMs) =>
        new Promise((resolve) => {
          life.after(maxMs, resolve);
          for (const other of this.machines)
            if (other.life.isAlive && other.life !== life)
              void other.member.status().then((said) => {
                if (said !== undefined && hear(said)) resolve();
              });
        }),
    };
  }
}

describe('an successor in class replica-disk', () => {
  it('has waited for the lease of a dead owner while it followed [CLU-005]', async () => {
    const replicas = new Replicas();
    await replicas.begin();
    replicas.machines[0]?.life.kill();
    await replicas.pass(LEASE_MS);
    expect(await replicas.takeOver()).toBeLessThan(OPENING_MS_MAX);
  });

  it('waits for what is left of the lease', async () => {
    const replicas = new Replicas();
    await replicas.begin();
    replicas.machines[0]?.life.kill();
    await replicas.pass(LEASE_MS / 2);
    const tookMs = await replicas.takeOver();
    expect(tookMs).toBeGreaterThan(LEASE_MS / 2 - 100);
    expect(tookMs).toBeLessThan(LEASE_MS / 2 + OPENING_MS_MAX);
  });

  it('waits all of it when the servers lost their power: they may have lost what renewed it', async () => {
    const replicas = new Replicas();
    await replicas.begin();
    await replicas.pass(LEASE_MS);
    replicas.world.stream.flush();
    replicas.world.stream.cutPower(100);
    await replicas.pass(500);
    replicas.machines[0]?.life.kill();
    const tookMs = await replicas.takeOver();
    expect(tookMs).toBeGreaterThan(LEASE_MS - 1000);
  });

  it('waits all of it when it has just begun to follow again', async () => {
    const replicas = new Replicas();
    await replicas.begin();
    await replicas.pass(LEASE_MS);
    const successor = replicas.machines[1] as SimMachine;
    await replicas.during(successor.member.leave());
    replicas.machines[0]?.life.kill();
    expect(await replicas.takeOver()).toBeGreaterThan(LEASE_MS - 100);
  });
});

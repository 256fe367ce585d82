import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { MemberCluster } from './member-cluster.ts';
import { WriteLoad } from './write-load.ts';

const PATIENCE_MS = 100;

/** A cluster that answers everything alike; nobody of it runs. */
class StandIn {
  readonly members = [{ id: 'm1', isUp: true }];
  up = this.members;
  isClosed = false;
  asked = 0;
  #answer = 503;

  next(): unknown {
    return this.up[0];
  }

  async adminAt(): Promise<unknown> {
    this.asked += 1;
    // As an answer does, it takes a turn of the event loop.
    await setImmediate();
    return { status: this.#answer, text: 'nobody has it on the disk', json: {}, headers: {} };
  }

  admin(): Promise<unknown> {
    return Promise.resolve({ status: 200 });
  }

  acknowledge(): void {
    this.#answer = 201;
  }

  load(): WriteLoad {
    return new WriteLoad(this as unknown as MemberCluster, ['red', 'blue'], 'x').start(2);
  }
}

describe('clients that write', () => {
  it('report their last answer when nothing is acknowledged for too long, and end', async () => {
    const cluster = new StandIn();
    const load = cluster.load();
    const stalled = load.progress(1, PATIENCE_MS);
    await expect(stalled).rejects.toThrow(/members that are up: m1/);
    await expect(stalled).rejects.toThrow(/blue: 0 acknowledged.*m1: 503 nobody has it on the disk/s);
    cluster.acknowledge();
    expect((await load.stop()).acknowledged).toBeGreaterThan(0);
  });

  it('wait for a member while none is up, and end with the cluster', async () => {
    const cluster = new StandIn();
    cluster.up = [];
    cluster.acknowledge();
    const load = cluster.load();
    await expect(load.progress(1, PATIENCE_MS)).rejects.toThrow(/red: 0 acknowledged/);
    expect((await load.stop()).acknowledged).toBe(0);
    expect(cluster.asked).toBe(0);
    const later = cluster.load();
    cluster.up = cluster.members;
    await later.progress(1);
    cluster.up = [];
    cluster.isClosed = true;
    expect((await later.stop()).acknowledged).toBeGreaterThan(0);
  });
});

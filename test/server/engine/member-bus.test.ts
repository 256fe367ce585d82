import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { busObserver, tellingEvents, tellingRemovals, watchBus } from '#server/engine/member-bus.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { LocalBus } from '#runtime/embedded/local-bus.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';
import type { BusItem } from '#runtime/bus/ports.ts';
import { BusWorld, revisionsOf, takeUntil } from '#test/support/bus-world.ts';
import { startServer } from '#test/support/server.ts';
import { BRANCH } from '#test/support/test-branch.ts';

describe('a member', () => {
  it('notifies listeners of commits, counts them, and reports deleted branches and repositories', async () => {
    const server = await startServer();
    const { bus } = server.member;
    const everything = bus.subscribeUnder('default');
    /** What is told of the revision that made a node. */
    const toldOf = async (path: string): Promise<BusItem> => {
      for await (const item of { [Symbol.asyncIterator]: () => ({ next: () => everything.next() }) }) {
        const { event } = item;
        if (event.type === 'RevisionCommitted' && event.changes?.some((each) => each.path === path))
          return item;
      }
      throw new Error(`nobody told of ${path}`);
    };
    const repository = await server.createRepository('shop');
    const workspace = { allowed_node_types: [], allowed_root_node_types: [] };
    const put = await server.admin('PUT', `/api/workspaces/${repository}/content`, workspace);
    expect(put.status).toBe(204);
    const made = await server.admin('POST', `/api/management/repositories/default/${repository}/branches`, {
      name: 'draft',
    });
    expect(made.status).toBe(201);
    const create = (branch: string, name: string) =>
      server.admin('POST', `/api/repository/${repository}/${branch}/head/content/`, {
        name,
        node_type: 'svc:Folder',
      });
    expect((await create('main', 'a')).status).toBeLessThan(300);
    const { branch: main, event } = await toldOf('/a');
    expect(main).toMatch(/^default\/shop~[^/]+\/main~[^/]+\/branch$/);
    const subscription = await bus.subscribe(main);
    expect((await create('main', 'b')).status).toBeLessThan(300);
    const { value } = await subscription.next();
    expect(value?.event).toMatchObject({ previous: event.revision, changes: [{ path: '/b' }] });
    expect((await create('draft', 'c')).status).toBeLessThan(300);
    const { branch } = await toldOf('/c');
    expect(branch).toContain('/draft~');
    const draft = await bus.subscribe(branch);
    const metrics = await server.request('GET', '/metrics');
    expect(metrics.text).toContain('svc_bus_subscriptions 3\n');
    const path = `/api/management/repositories/default/${repository}/branches/draft`;
    expect((await server.admin('DELETE', path)).status).toBeLessThan(300);
    await expect(draft.next()).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    const ended = subscription.next();
    const removed = server.admin('DELETE', `/api/repositories/${repository}`);
    await expect(ended).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    expect((await removed).status).toBeLessThan(300);
    await server.close();
    await expect(bus.subscribe(main)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });
});

describe('the bus of a member', () => {
  let world: BusWorld;

  beforeEach(async () => {
    world = await BusWorld.open();
  });

  afterEach(() => world.close());

  it('receives the events of branches and removals, and is counted', async () => {
    const metrics = new Metrics();
    const { host } = world.branch.engine;
    const bus = new LocalBus({
      router: host,
      clock: systemClock,
      random: systemRandom,
      observer: busObserver(metrics),
    });
    watchBus(metrics, bus);
    const seen: number[] = [];
    const own = {
      batchDurable: () => {},
      events: (_actor: string, events: readonly unknown[]) => void seen.push(events.length),
      stopped: () => {},
      applyFailed: () => {},
    };
    // The bus needs the actors, and they the observer.
    let told: LocalBus | undefined;
    const observer = tellingEvents(own, () => told);
    world.sink = (branch, events) => observer.events(branch, events);
    await world.write();
    told = bus;
    const subscription = await bus.subscribe(BRANCH);
    const written = await world.writeMany(2);
    observer.events(BRANCH, [{ type: 'Other' }]);
    expect(revisionsOf(await takeUntil(subscription, written[1] as string))).toEqual(written);
    expect(seen).toEqual([1, 1, 1, 1]);
    const text = await metrics.text();
    expect(text).toContain('svc_bus_subscriptions 1\n');
    expect(text).toContain('svc_bus_items_total 2\n');
    const ended = subscription.next();
    const lifecycle = tellingRemovals(host, bus);
    expect(await lifecycle.exists(BRANCH)).toBe(true);
    const removing = lifecycle.destroyUnder(BRANCH.slice(0, BRANCH.lastIndexOf('/')));
    await expect(ended).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    await removing;
    expect(await lifecycle.exists(BRANCH)).toBe(false);
    await bus.close();
  });
});

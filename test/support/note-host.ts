import { ActorHost, type HostEnvironment } from '#runtime/actor/host/actor-host.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { engineLimits } from './engine.ts';
import { noteActor } from './note-actor.ts';

/** Opens the actors of a partition, all of which keep notes, as a member does once it has the log. */
export async function openNoteHost(
  given: Pick<HostEnvironment, 'folder' | 'store' | 'log' | 'observer'>,
): Promise<ActorHost> {
  const host = new ActorHost({
    ...given,
    clock: systemClock,
    random: systemRandom,
    kinds: [noteActor],
    limits: engineLimits,
    slices: new SliceScheduler(systemClock),
  });
  await host.recover();
  return host;
}

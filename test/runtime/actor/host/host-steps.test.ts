import { expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { WallSteps } from '#runtime/base/time/wall-steps.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { noteActor } from '#test/support/note-actor.ts';

const TWO_DAYS_MS = 172_800_000;
const actor = 'default/site~1/notes';

it('answers a repeated request after its wall clock was set and its actors were opened again', async () => {
  let aheadMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const fixture = await HostFixture.open([noteActor], undefined, clock);
  try {
    fixture.steps = new WallSteps(clock);
    await fixture.reopen();
    await fixture.host.create(actor);
    const send = () =>
      fixture.command(actor, { type: 'Write', key: 'k', text: 'x' } as never, undefined, {
        key: 'once',
        requestHash: 'h',
      });
    const revision = await send();
    aheadMs = TWO_DAYS_MS;
    await fixture.reopen();
    expect(await send()).toBe(revision);
  } finally {
    await fixture.close();
  }
});

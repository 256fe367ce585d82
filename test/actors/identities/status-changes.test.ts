import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isUserStatusChanging, type StatusChange } from '#actors/identities/people-messages.ts';
import { IdentitiesFixture } from '#test/support/identities-fixture.ts';

let real: IdentitiesFixture;
let identityId: string;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(async () => {
  await real.begin();
  ({ identityId } = await real.register('ann@example.org'));
});

const activate = (isActive: boolean): Promise<unknown> =>
  real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: isActive } });

const changes = (): readonly StatusChange[] => real.ask({ type: 'ListStatusChanges' });

const told = (): number => real.host.events.filter(isUserStatusChanging).length;

describe('a change of the status of user nodes', () => {
  it('begins when an identity is activated, deactivated or removed, and with nothing else', async () => {
    const before = told();
    await real.send({ type: 'UpdateIdentity', identityId, changes: { display_name: 'A', is_active: true } });
    expect([changes(), told()]).toEqual([[], before]);
    await activate(false);
    expect(changes()).toMatchObject([{ identityId, status: 'inactive', after: null, done: 0 }]);
    const [inactive] = changes();
    await activate(false);
    expect(changes()).toEqual([inactive]);
    await activate(true);
    expect(changes()).toMatchObject([{ identityId, status: 'active' }]);
    await real.send({ type: 'DeleteIdentity', identityId });
    expect(changes()).toMatchObject([{ identityId, status: 'deleted', after: null, done: 0 }]);
    expect(real.ask({ type: 'ListStatusChanges', identityId })).toEqual(changes());
    expect(real.ask({ type: 'ListStatusChanges', identityId: 'other' })).toEqual([]);
    expect(told()).toBe(before + 3);
  });

  it('records how far it has come, and ends; both only as long as it is the newest one', async () => {
    await activate(false);
    const [{ changeId }] = changes() as readonly [StatusChange];
    const note = (id: string, after: string): Promise<boolean> =>
      real.send({ type: 'NoteStatusChange', identityId, changeId: id, after, done: 1 });
    expect(await note(changeId, 'site~1')).toBe(true);
    await real.host.reopen();
    expect(changes()).toMatchObject([{ changeId, after: 'site~1', done: 1 }]);
    await activate(true);
    const [next] = changes() as readonly [StatusChange];
    expect(next).toMatchObject({ after: null, done: 0 });
    expect(await note(changeId, 'site~2')).toBe(false);
    expect(await real.send({ type: 'EndStatusChange', identityId, changeId })).toBe(false);
    expect(changes()).toEqual([next]);
    expect(await real.send({ type: 'EndStatusChange', identityId, changeId: next.changeId })).toBe(true);
    expect(changes()).toEqual([]);
    expect(await note(next.changeId, 'site~3')).toBe(false);
  });
});

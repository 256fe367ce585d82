import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commonFormats, type Formats } from '#cluster/directory/common-formats.ts';
import { registryTimes } from '#cluster/directory/member-registry.ts';
import { RECORD_FORMAT } from '#cluster/replication/record-format.ts';
import { CALL_VERSION } from '#cluster/router/call-frames.ts';
import { HeardMembers } from '#test/support/heard-members.ts';

const formats: fc.Arbitrary<Formats> = fc.record({
  records: fc.integer({ min: 1, max: 9 }),
  calls: fc.integer({ min: 1, max: 9 }),
});

describe('the formats of a cluster', () => {
  it('are the newest that every member understands, on each member [CLU-043]', () => {
    fc.assert(
      fc.property(formats, fc.array(formats, { maxLength: 6 }), (own, others) => {
        const all = [own, ...others];
        const common = commonFormats(own, others);
        for (const each of all) {
          expect(each.records).toBeGreaterThanOrEqual(common.records);
          expect(each.calls).toBeGreaterThanOrEqual(common.calls);
        }
        expect(all.some(({ records }) => records === common.records)).toBe(true);
        expect(all.some(({ calls }) => calls === common.calls)).toBe(true);
        // Every member comes to the same.
        expect(commonFormats(others[0] ?? own, [own, ...others.slice(1)])).toEqual(common);
      }),
    );
  });

  it('are announced by heartbeats, and count while their member is silent, until it is forgotten or leaves [CLU-043]', () => {
    const members = new HeardMembers(4);
    members.add('new', { records: 3, calls: 2 });
    members.add('old', { records: 2, calls: 2 });
    members.pass(1);
    const common = (): Formats => members.registry('new').formats;
    expect(common()).toEqual({ records: 2, calls: 2 });
    members.cut('old');
    members.pass(5);
    expect(members.registry('new').isPresent('old')).toBe(false);
    expect(common()).toEqual({ records: 2, calls: 2 });
    members.pass(registryTimes.forgetMs / registryTimes.heartbeatMs);
    expect(common()).toEqual({ records: 3, calls: 2 });
  });

  it('of this version are those it announces', () => {
    expect({ records: RECORD_FORMAT, calls: CALL_VERSION }).toEqual({ records: 1, calls: 7 });
  });
});

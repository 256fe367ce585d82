import fc from 'fast-check';
import type {
  AlterBranchStatement,
  BranchStatement,
  ConflictResolution,
  SessionStatement,
} from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import { arbitraryRevision, arbitraryText, arbitraryValue, perhaps } from './arbitrary-given.ts';

const place = fc.constant({ start: 0, end: 0 });
/** In lower case, as the parser makes them; each word may be a keyword. */
const variable = fc.constantFrom(
  'validate_schema',
  'app.other',
  'local',
  'session.to',
  'select',
  'time.zone.x',
);
const resolution: fc.Arbitrary<ConflictResolution> = fc.record({
  nodeId: arbitraryText,
  locale: perhaps(arbitraryText),
  decision: fc.oneof<fc.Arbitrary<ConflictResolution['decision']>[]>(
    fc.record({ kind: fc.constantFrom('keep-ours', 'keep-theirs', 'delete') }),
    fc.record({ kind: fc.constant('use-value' as const), json: arbitraryText }),
  ),
  span: place,
});
const change: fc.Arbitrary<AlterBranchStatement['change']> = fc.oneof<
  fc.Arbitrary<AlterBranchStatement['change']>[]
>(
  fc.record({ kind: fc.constant('upstream' as const), upstream: perhaps(arbitraryText) }),
  fc.record({ kind: fc.constant('protected' as const), isProtected: fc.boolean() }),
  fc.record({ kind: fc.constant('description' as const), text: arbitraryText }),
  fc.record({ kind: fc.constant('rename' as const), name: arbitraryText }),
);

/** Any statement about branches or about the session. */
export const arbitraryBranchStatement: fc.Arbitrary<BranchStatement | SessionStatement> = fc.oneof<
  fc.Arbitrary<BranchStatement | SessionStatement>[]
>(
  fc.record({
    kind: fc.constant('create-branch' as const),
    name: arbitraryText,
    from: perhaps(arbitraryText),
    at: perhaps(arbitraryRevision),
    description: perhaps(arbitraryText),
    isProtected: fc.boolean(),
    upstream: perhaps(arbitraryText),
    span: place,
  }),
  fc.record({ kind: fc.constant('alter-branch' as const), name: arbitraryText, change, span: place }),
  fc.record({
    kind: fc.constant('drop-branch' as const),
    name: arbitraryText,
    ifExists: fc.boolean(),
    span: place,
  }),
  fc.record({
    kind: fc.constant('merge-branch' as const),
    source: arbitraryText,
    target: arbitraryText,
    strategy: fc.constantFrom('fast-forward' as const, 'three-way' as const, undefined),
    message: perhaps(arbitraryText),
    resolutions: fc.array(resolution, { maxLength: 2 }),
    span: place,
  }),
  fc.record({ kind: fc.constantFrom('show-branches', 'show-current-branch'), span: place }),
  fc.record({ kind: fc.constant('describe-branch' as const), name: arbitraryText, span: place }),
  fc.record({
    kind: fc.constantFrom('show-divergence', 'show-conflicts'),
    branch: arbitraryText,
    base: arbitraryText,
    span: place,
  }),
  fc.record({
    kind: fc.constant('use-branch' as const),
    name: arbitraryText,
    isLocal: fc.boolean(),
    span: place,
  }),
  fc.record({ kind: fc.constantFrom('begin', 'rollback'), span: place }),
  fc.record({
    kind: fc.constant('commit' as const),
    message: perhaps(arbitraryText),
    actor: perhaps(arbitraryText),
    span: place,
  }),
  fc.record({
    kind: fc.constant('set-variable' as const),
    name: variable,
    value: perhaps(arbitraryValue),
    span: place,
  }),
  fc.record({
    kind: fc.constant('show-variable' as const),
    name: fc.oneof(variable, fc.constantFrom('transaction isolation level', 'branches', 'current branch')),
    span: place,
  }),
);

import { checkJsonWork } from '#runtime/base/text/json-work.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';

/** Bound on the values of a body if the branch is given none: the default of the option. */
const BODY_VALUES_MAX = 200_000;

/**
 * A node may have the values of this many bodies: references by path are stored with ids, as five values instead of
 * three.
 */
const BODIES_PER_NODE = 2;

/**
 * Refuses a change in part that gives a node more values than the bodies of whole nodes can. Some steps of each write,
 * such as copying an object and checking it, are not interrupted, and take as long as there are values. A body is bounded when
 * it is received, but the parts that many small bodies add are not. A node with more values from before may be
 * written as long as its properties do not get longer.
 *
 * @param next the state to be stored
 * @returns yields where the work may pause
 * @throws {ServiceError} `PAYLOAD_TOO_LARGE`
 */
export function* requireFewValues(
  edit: EditScope,
  old: NodeRecord,
  next: NodeRecord,
): Generator<undefined, void> {
  const valuesMax = (edit.state.limits.jsonValuesMax ?? BODY_VALUES_MAX) * BODIES_PER_NODE;
  if (!(yield* hasMoreValues(next, valuesMax))) return;
  // The rest of a record grows with the name of who wrote it last, whatever happens to the values.
  const hasGrown = next.propertyBytes().text.length > old.propertyBytes().text.length;
  if (!hasGrown && (yield* hasMoreValues(old, valuesMax))) return;
  throw new ServiceError(
    'PAYLOAD_TOO_LARGE',
    `The properties of '${next.header.path}' would have more than ${valuesMax} values and keys, where a key that makes a ` +
      'new shape of object counts as ten; put parts of them into nodes of their own',
  );
}

function* hasMoreValues(record: NodeRecord, valuesMax: number): Generator<undefined, boolean> {
  if (!record.isLarge) return false;
  const text = yield* record.propertiesTextInSteps();
  return (yield* checkJsonWork(text, { depthMax: Infinity, valuesMax })).kind === 'too-much';
}

import { accessTypes } from './access-types.ts';
import { aiTypes } from './ai-types.ts';
import { contentTypes } from './content-types.ts';
import type { BuiltInNodeType } from './define-type.ts';
import { functionTypes } from './function-types.ts';
import { messageTypes } from './message-types.ts';
import { systemTypes } from './system-types.ts';

/**
 * All built-in node types, parents before children. A new repository gets all of them; an older one gets those whose
 * shipped version is higher than its own.
 *
 * @see docs/interface/built-ins.md
 */
export const builtInNodeTypes: readonly BuiltInNodeType[] = Object.freeze([
  ...contentTypes,
  ...accessTypes,
  ...messageTypes,
  ...functionTypes,
  ...systemTypes,
  ...aiTypes,
]);

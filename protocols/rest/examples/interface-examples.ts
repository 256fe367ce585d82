import type { Exchange, ParameterValue } from '#protocols/http/openapi/openapi-examples.ts';
import { accountExamples } from './account-examples.ts';
import { adminExamples } from './admin-examples.ts';
import { branchExamples } from './branch-examples.ts';
import { closingExamples } from './closing-examples.ts';
import { commandExamples } from './command-examples.ts';
import { identityExamples } from './identity-examples.ts';
import { lockExamples } from './lock-examples.ts';
import { magicLinkExamples } from './magic-link-examples.ts';
import { managementExamples } from './management-examples.ts';
import { nodeExamples } from './node-examples.ts';
import { peopleExamples } from './people-examples.ts';
import { queryExamples } from './query-examples.ts';
import { repositoryExamples } from './repository-examples.ts';
import { replacementExamples, schemaExamples } from './schema-examples.ts';

/** Parameters that all examples share, by name. */
export const exampleParameters: Readonly<Record<string, ParameterValue>> = {
  tenant: 'default',
  repo: 'magazine',
  branch: 'main',
  workspace: 'content',
};

/**
 * Examples of every operation. They form one sequence: sent to a new server in this order they get these responses,
 * except for ids, revisions, tokens and times, which differ each time.
 */
export const interfaceExamples: readonly Exchange[] = [
  ...accountExamples,
  ...adminExamples,
  ...magicLinkExamples,
  ...repositoryExamples,
  ...schemaExamples,
  ...nodeExamples,
  ...commandExamples,
  ...queryExamples,
  ...branchExamples,
  ...lockExamples,
  ...managementExamples,
  ...identityExamples,
  ...peopleExamples,
  ...replacementExamples,
  ...closingExamples,
];

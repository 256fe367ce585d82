import type { ParameterDocs } from '#protocols/http/route.ts';
import { minRevisionParameter } from '../access/branch-access.ts';
import { contentSchema } from '../content-schemas.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { runText, type SqlRouteContext } from './run-text.ts';
import { PARAMETERS_MAX, parseSqlBody, SQL_LENGTH_MAX } from './sql-body.ts';

const requestSchema = {
  type: 'object',
  required: ['sql'],
  properties: {
    sql: {
      type: 'string',
      maxLength: SQL_LENGTH_MAX,
      description:
        'One statement, or several with `;` between them. They run in order; the answer is that of the last. All of the text is read before the first one runs.',
    },
    params: {
      type: 'array',
      items: {},
      maxItems: PARAMETERS_MAX,
      description: 'Values of `$1`, `$2` and so on: any JSON.',
    },
  },
  additionalProperties: false,
} as const;

const responses = {
  200: {
    description:
      'The columns and rows of the last statement: `affected_rows` of a change, `result` and `success` of a definition, `job_id`, `status` and `message` of what is done in the background. `X-Svc-Revision` names the last revision that was written, else the one that was read.',
    schema: contentSchema('SqlAnswer'),
  },
  400: {
    description:
      'A statement is not valid, or failed: `VALIDATION_FAILED`. The message shows the place; `details.line` and `details.column` name it.',
  },
  401: { description: 'A statement writes, and there is no valid login.' },
  403: { description: 'The caller may not do this.' },
  404: { description: 'There is no such repository, branch, revision or node.' },
  405: { description: 'A statement writes to a tag.' },
  409: {
    description: 'A node, branch or definition exists already, or the lock of the request is not held.',
  },
  413: {
    description:
      'The statements take more work or memory than one request may, or change more than one commit may, or the body is too large; the message says what to change.',
  },
  422: {
    description:
      'A field is missing or of the wrong type; the text names it. Or the `Idempotency-Key` was used with another request.',
  },
} as const;

/**
 * Statements of SQL on a branch.
 *
 * @see docs/interface/sql.md
 */
export function sqlRoutes(context: SqlRouteContext): readonly RestRoute[] {
  return [
    sqlRoute(context, '/api/sql/{repo}', 'runSql', 'Run SQL on branch `main`'),
    sqlRoute(context, '/api/sql/{repo}/{branch}', 'runSqlOnBranch', 'Run SQL on a branch'),
  ];
}

const parameters: readonly ParameterDocs[] = [minRevisionParameter];

function sqlRoute(
  context: SqlRouteContext,
  pattern: string,
  operationId: string,
  summary: string,
): RestRoute {
  return {
    method: 'POST',
    pattern,
    operationId,
    body: 'json',
    mayRead: true,
    repeatsWithoutBranch: true,
    auth: 'optional',
    docs: {
      summary,
      description:
        "Workspaces are tables, nodes are rows: `SELECT name FROM 'blog' WHERE properties->>'status' = $1`. A row that the caller may not read is in no answer, no count and no join. Each statement that writes is a revision; what stands between `BEGIN` and `COMMIT` is one together. The first error ends the request, and what was written before stays. With an `Idempotency-Key` each statement that writes takes effect once, and a repetition goes on where the first request had ended. `X-Svc-Min-Revision` and `X-Svc-Consistency` count for requests that only read.",
      tag: 'SQL',
      parameters,
      requestSchema,
      responses,
    },
    handler: (request: RestRequest) => runText(context, request, parseSqlBody(request.body)),
  };
}

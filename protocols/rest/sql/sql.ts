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
        'One statement, or several with `;` between them. They run in order; the answer is that of the last.',
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
    description: 'The columns and rows of the last statement.',
    schema: contentSchema('SqlAnswer'),
  },
  400: {
    description:
      'A statement is not valid, or failed: `VALIDATION_FAILED`. The message shows the place; `details.line` and `details.column` name it.',
  },
  404: { description: 'There is no such repository, branch or revision.' },
  413: {
    description:
      'The statements take more work or memory than one request may, or the body is too large; the message says what to change.',
  },
  422: { description: 'A field is missing or of the wrong type; the text names it.' },
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
    auth: 'optional',
    docs: {
      summary,
      description:
        "Workspaces are tables, nodes are rows: `SELECT name FROM 'blog' WHERE properties->>'status' = $1`. A row that the caller may not read is in no answer, no count and no join.",
      tag: 'SQL',
      parameters,
      requestSchema,
      responses,
    },
    handler: (request: RestRequest) => runText(context, request, parseSqlBody(request.body)),
  };
}

import type { Examples, NamedExamples } from './openapi-examples.ts';
import type { DescribedOperation } from './openapi-operations.ts';
import type { ErrorShape, JsonSchema, ResponseDocs } from '../route.ts';

/** Schemas of error bodies, by name. */
export const errorSchemas: Readonly<Record<string, JsonSchema>> = {
  ErrorBody: {
    type: 'object',
    required: ['code', 'message', 'timestamp'],
    properties: {
      code: { type: 'string', description: 'One of the codes of the page of errors; it does not change.' },
      message: { type: 'string', description: 'For people; it may change.' },
      field: { type: 'string', description: 'The field of the body, or the parameter, at fault.' },
      details: { type: 'object', description: 'Facts for programs.' },
      timestamp: { type: 'string', format: 'date-time' },
    },
  },
  QueryErrorBody: {
    type: 'object',
    required: ['error', 'message'],
    properties: {
      error: { type: 'string', description: 'Name of the status, `BadRequest`; `Internal` from 500 on.' },
      message: { type: 'string' },
    },
  },
  ManagementErrorBody: {
    type: 'object',
    required: ['success', 'data', 'error'],
    properties: { success: { const: false }, data: { type: 'null' }, error: { type: 'string' } },
  },
};

/** The name prefix of error bodies and shared responses. */
const shapeNames: Readonly<Record<ErrorShape, string>> = {
  standard: 'Error',
  query: 'QueryError',
  management: 'ManagementError',
};

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly examples?: NamedExamples }>>;

/** A response as OpenAPI writes it: inline, or a reference to a component. */
export type OpenApiResponse = Readonly<Record<string, unknown>>;

const text: Content = { 'text/plain': { schema: { type: 'string' } } };

/** A response that the server itself sends. */
interface ServerAnswer {
  /** Name among the components, without the prefix for the shape of the error body. */
  readonly name: string;
  readonly description: string;
}

/** Responses the server sends before a handler runs, and for every handler that reads fields of a body. */
function answersOfServer({ auth, body }: DescribedOperation): Readonly<Record<number, ServerAnswer>> {
  const isJson = hasJson(body);
  return {
    400: isJson
      ? { name: 'NoJson', description: 'The body is no JSON, or the request is malformed in another way.' }
      : { name: 'Malformed', description: 'The request is malformed.' },
    ...(auth === 'required' ? { 401: { name: 'NoLogin', description: 'There is no valid login.' } } : {}),
    ...(isJson
      ? {
          413: { name: 'TooLarge', description: 'The body is too large.' },
          415: { name: 'OtherType', description: 'The body is not sent as JSON.' },
          422: {
            name: 'BadField',
            description: 'A field is missing or of the wrong type; the text names it.',
          },
        }
      : {}),
  };
}

function hasJson(body: DescribedOperation['body']): boolean {
  return body === 'json' || body === 'optional-json';
}

/** Whether the operation takes an `Idempotency-Key`: one used with another request is refused with 422, as JSON. */
function isKeyed({ docs }: DescribedOperation): boolean {
  return docs.parameters?.some(({ name }) => name === 'Idempotency-Key') === true;
}

/** The body of an error without a schema of its own. */
function errorContent(operation: DescribedOperation, status: number): Content {
  const schema = { $ref: `#/components/schemas/${shapeNames[operation.errorShape]}Body` };
  const json: Content = { 'application/json': { schema } };
  if (status !== 422 || !hasJson(operation.body)) return json;
  return isKeyed(operation) ? { ...text, ...json } : text;
}

function contentOf(operation: DescribedOperation, status: number, docs: ResponseDocs): Content | undefined {
  const { alternatives = {}, contentType = 'application/json', schema } = docs;
  const others = Object.fromEntries(
    Object.entries(alternatives).map(([type, other]) => [type, { schema: other }]),
  );
  if (schema !== undefined) return { [contentType]: { schema }, ...others };
  return status < 400 ? undefined : { ...errorContent(operation, status), ...others };
}

/** The responses of operations, and the components that they refer to. */
export class Responses {
  /** Responses that many operations share, by name. */
  readonly components: Record<string, OpenApiResponse> = {};
  readonly #examples: Examples;

  constructor(examples: Examples) {
    this.#examples = examples;
  }

  /** The responses of an operation: its own, those of the server, and any other error as `default`. */
  of(operation: DescribedOperation): Readonly<Record<string, OpenApiResponse>> {
    const responses: Record<string, OpenApiResponse> = {};
    const own = operation.docs.responses;
    for (const [status, answer] of Object.entries(answersOfServer(operation))) {
      if (own[Number(status)] !== undefined) continue;
      responses[status] = this.#shared(operation, Number(status), answer);
    }
    for (const [status, docs] of Object.entries(own)) {
      const { description } = docs;
      const content = contentOf(operation, Number(status), docs);
      responses[status] =
        content === undefined
          ? { description }
          : { description, content: this.#withExamples(operation, Number(status), content) };
    }
    responses.default = this.#shared(operation, 0, { name: 'Other', description: 'Any other error.' });
    return responses;
  }

  #withExamples({ operationId }: DescribedOperation, status: number, content: Content): Content {
    return Object.fromEntries(
      Object.entries(content).map(([contentType, one]) => {
        const examples = this.#examples.ofAnswer(operationId, status, contentType);
        return [contentType, examples === undefined ? one : { ...one, examples }];
      }),
    );
  }

  #shared(operation: DescribedOperation, status: number, answer: ServerAnswer): OpenApiResponse {
    const keyed = status === 422 && isKeyed(operation) ? 'OrKey' : '';
    const name = `${shapeNames[operation.errorShape]}${answer.name}${keyed}`;
    const { description } = answer;
    this.components[name] ??= { description, content: errorContent(operation, status) };
    return { $ref: `#/components/responses/${name}` };
  }
}

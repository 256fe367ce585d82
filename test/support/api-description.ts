import { systemClock } from '#runtime/base/time/clock.ts';
import type { RestRequest, RestRoute } from '#protocols/rest/rest-route.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';
import type { OpenApiDocument, OpenApiOperation } from '#protocols/http/openapi/openapi.ts';

/** The description of the whole interface, without a server: no handler runs but the one that describes. */
export async function wholeDescription(): Promise<OpenApiDocument> {
  const routes = memberRoutes({ version: '1', clock: systemClock } as RoutesContext);
  const route = routes.find(({ operationId }) => operationId === 'readOpenApi') as RestRoute;
  const { raw } = await route.handler({} as RestRequest);
  return JSON.parse(raw as string) as OpenApiDocument;
}

type Json = Readonly<Record<string, unknown>>;

/** A parameter of a described operation. */
export interface DescribedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Json & { readonly enum?: readonly string[] };
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** What a body may be, by content type. */
export type DescribedContent = Readonly<
  Record<
    string,
    { readonly schema: Json; readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }
  >
>;

/** One operation of the description, with what it refers to in place of the references. */
export interface DescribedOperation extends Pick<OpenApiOperation, 'operationId' | 'tags' | 'security'> {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly DescribedParameter[];
  /** Content of its body; empty when it takes none. */
  readonly body: DescribedContent;
  /** Content of its answers by status, empty for an answer without a body. */
  readonly answers: Readonly<Record<string, DescribedContent>>;
}

/** What a reference into the document stands for; any other value is itself. */
export function resolved(document: OpenApiDocument, value: unknown): Json {
  const { $ref } = value as { readonly $ref?: string };
  if ($ref === undefined) return value as Json;
  const steps = $ref.slice(2).split('/');
  return steps.reduce<unknown>((at, step) => (at as Json)[step], document) as Json;
}

/** Every operation of a description. */
export function describedOperations(document: OpenApiDocument): readonly DescribedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, one]): DescribedOperation => ({
        operationId: one.operationId,
        tags: one.tags,
        security: one.security,
        method: method.toUpperCase(),
        path,
        parameters: one.parameters.map(
          (parameter) => resolved(document, parameter) as unknown as DescribedParameter,
        ),
        body: (one.requestBody?.content ?? {}) as DescribedContent,
        answers: Object.fromEntries(
          Object.entries(one.responses).map(([status, response]) => [
            status,
            (resolved(document, response).content ?? {}) as DescribedContent,
          ]),
        ),
      }),
    ),
  );
}

/**
 * Addresses of an operation with its variables filled in: one for each text that a variable of fixed texts has.
 *
 * @param textOf the text of any other variable
 */
export function addressesOf(
  { parameters, path }: Pick<DescribedOperation, 'parameters' | 'path'>,
  textOf: (name: string) => string,
): readonly string[] {
  let addresses = [path];
  for (const { name, schema, in: place } of parameters) {
    if (place !== 'path') continue;
    const values = schema.enum ?? [textOf(name)];
    addresses = addresses.flatMap((address) => values.map((value) => address.replace(`{${name}}`, value)));
  }
  return addresses;
}

import type { Clock } from '#runtime/base/time/clock.ts';
import { runInTurns } from '#runtime/base/event-loop/run-in-slices.ts';
import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import { describeRoutes, type OpenApiOptions } from '#protocols/http/openapi/openapi.ts';
import { contentSchemas } from './content-schemas.ts';
import { exampleParameters, interfaceExamples } from './examples/interface-examples.ts';
import { interfaceTags } from './interface-tags.ts';
import { commandSchemas } from './nodes/command-schemas.ts';
import { querySchemas } from './nodes/query-schemas.ts';
import type { RestRoute } from './rest-route.ts';

/** Approximate number of characters written between two yields. */
const STEP = 1 << 15;

/**
 * The interface description as JSON, built over several turns of the event loop.
 *
 * @param version of the product
 */
export function interfaceDescription(
  clock: Clock,
  routes: readonly RestRoute[],
  version: string,
): Promise<string> {
  return runInTurns(
    clock,
    descriptionText({
      title: 'Grove',
      version,
      description:
        'A versioned content database: branches, typed node trees, every write a revision. Query parameters that are not listed are refused with 400. So are fields of bodies, where the schema says `additionalProperties: false`. Names may be written in snake_case or in camelCase; one form is listed, and `x-aliases` has further names.',
      license: 'Apache-2.0',
      tags: interfaceTags,
      routes,
      schemas: { ...contentSchemas, ...commandSchemas, ...querySchemas },
      examples: interfaceExamples,
      exampleParameters,
    }),
  );
}

function* descriptionText(options: OpenApiOptions): Generator<undefined, string> {
  const document = yield* describeRoutes(options);
  const pieces: string[] = [];
  for (const piece of jsonPieces(document, STEP)) {
    pieces.push(piece);
    yield;
  }
  return pieces.join('');
}

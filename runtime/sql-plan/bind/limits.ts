/**
 * Bounds of a statement. They keep the trees that planning and execution walk small enough to be walked without a pause,
 * and they are far above what people write.
 */

/** Columns of a select list, after `*` is expanded; as in PostgreSQL. */
export const OUTPUT_COLUMNS_MAX = 1_664;

/** Columns of all select lists and VALUES of a statement together. */
export const STATEMENT_COLUMNS_MAX = 5_000;

/** Relations in all FROM clauses of a statement. */
export const RELATIONS_MAX = 64;

/** SELECT and VALUES in a statement. Set operations nest as deep as there are arms, so this bounds that depth too. */
export const SELECTS_MAX = 200;

/** Subqueries within expressions of a statement. */
export const SUBQUERIES_MAX = 100;

/** Expressions of one GROUP BY, ORDER BY, PARTITION BY or DISTINCT ON. */
export const KEYS_MAX = 500;

/** Different aggregates, and different windows, of one SELECT. */
export const AGGREGATES_MAX = 400;

/** Fields of all rows of one VALUES. */
export const VALUES_FIELDS_MAX = 100_000;

/**
 * Expressions that a statement may gain where an operand has to be evaluated in several places: `x BETWEEN a AND b` is
 * `x >= a AND x <= b`. Each level of nesting doubles it, so that without a bound a short text made a tree without end.
 */
export const COPIED_EXPRESSIONS_MAX = 5_000;

/** Elements of JSON arrays of a statement that are taken apart while planning, for `x = ANY ($1)`. */
export const LISTED_ELEMENTS_MAX = 20_000;

/** Length of a text, an array or a JSON text up to which calls on it are evaluated while planning. */
export const FOLDED_LENGTH_MAX = 1_000;

/** Estimated nanoseconds of a call up to which it is evaluated while planning. */
export const FOLDED_WORK_MAX = 10_000;

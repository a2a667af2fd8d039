const MADE = /^http:[0-9a-f]{40,}$/;

/** The business key of an execution; null where the service made one so that a start is not done twice. */
export const businessKey = (key: string | null): string | null => (key !== null && MADE.test(key) ? null : key);

import { Button, Group, Stack, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { JsonObject, Review } from "@/api/types";
import { useWrite } from "@/api/writes";
import { ProblemBox } from "@/parts/ProblemBox";
import { DecisionField } from "./DecisionField";
import { Delegate } from "./Delegate";

const NO = /reject|decline|deny|refuse|^no$/;

/** The fields of the form, a comment, and a button for each verdict. */
export function DecisionForm({ review }: { review: Review }) {
  const { review: name, form, verdicts } = review;
  const [given, setGiven] = useState<JsonObject>(() =>
    Object.fromEntries(form.filter((one) => one.kind === "flag").map((one) => [one.name, false])),
  );
  const [comment, setComment] = useState("");
  const [free, setFree] = useState("");
  const path = `v1/reviews/${name.replace(":", "/")}`;
  const write = useWrite<Review>({ done: "Decided", quiet: true });

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const pressed = (event.nativeEvent as SubmitEvent).submitter?.getAttribute("value");
    const verdict = pressed || free;
    const body = { verdict, comment, ...(form.length ? { form: given } : {}) };
    write.mutate({ path: `${path}/decision`, body });
  }

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {form.map((one) => (
          <DecisionField
            key={one.name}
            field={one}
            value={given[one.name]}
            onChange={(value) => {
              const { [one.name]: _, ...rest } = given;
              setGiven(value === undefined ? rest : { ...given, [one.name]: value });
            }}
          />
        ))}
        <Textarea
          label="Comment"
          autosize
          minRows={2}
          value={comment}
          maxLength={1000}
          onChange={(event) => setComment(event.currentTarget.value)}
        />
        {verdicts === null && (
          <TextInput label="Verdict" required value={free} onChange={(event) => setFree(event.currentTarget.value)} />
        )}
        {write.isError && <ProblemBox error={write.error} />}
        <Group gap="xs">
          {(verdicts ?? [""]).map((one) => (
            <Button
              key={one}
              type="submit"
              value={one}
              variant={NO.test(one) ? "default" : "filled"}
              c={NO.test(one) ? "var(--bad-text)" : undefined}
              loading={write.isPending}
              tt="capitalize"
            >
              {one || "Decide"}
            </Button>
          ))}
          <Delegate path={`${path}/delegation`} />
        </Group>
      </Stack>
    </form>
  );
}

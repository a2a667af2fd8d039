import { Kbd, TextInput } from "@mantine/core";
import { Search } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import { useKeys } from "./useKeys";

const EID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Finds executions; the id of one opens it. `/` goes there from everywhere. */
export function SearchBox() {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  useKeys({ "/": () => document.getElementById("search")?.focus() });

  function submit(event: FormEvent) {
    event.preventDefault();
    const wanted = text.trim();
    if (EID.test(wanted)) navigate(`/executions/${wanted}`);
    else navigate(wanted ? `/executions?text=${encodeURIComponent(wanted)}` : "/executions");
    document.getElementById("search")?.blur();
  }

  return (
    <form onSubmit={submit} role="search" style={{ flex: "1 1 auto", maxWidth: 420 }}>
      <TextInput
        id="search"
        type="search"
        aria-label="Find executions"
        placeholder="Find by id, key or error"
        leftSection={<Search size={15} aria-hidden />}
        rightSection={text ? null : <Kbd size="xs">/</Kbd>}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
    </form>
  );
}
